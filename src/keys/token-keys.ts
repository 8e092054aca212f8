import { createSigner, createVerifier } from 'fast-jwt'

/** The kinds of tokens: access and refresh tokens of sessions, and refresh tokens of applications. */
export type TokenKind = 'at+jwt' | 'rt+jwt' | 'art+jwt'

/** Longer than any token of ours. A longer text is refused unread. */
const maximumLength = 2048

/**
 * A token is a header, a payload, and a signature of 32 or 64 bytes. Some bits of its last character are not used, so several texts decode
 * to the same signature. Only the text in which these bits are zero is accepted.
 */
const shapes = {
  HS256: /^[\w-]{1,256}\.[\w-]+\.[\w-]{42}[AEIMQUYcgkosw048]$/,
  ES256: /^[\w-]{1,256}\.[\w-]+\.[\w-]{85}[AQgw]$/,
}

type Material =
  | { algorithm: 'HS256'; kid: string; secret: string }
  | { algorithm: 'ES256'; kid: string; privateKey: string; publicKey: string }

/**
 * Signs and checks one kind of token with one key. `header` is the only header that its tokens have. The text of the header selects the
 * key, so another algorithm or type, an unknown key id or an embedded key is never parsed, and no key is used with another algorithm than
 * its own.
 */
export type TokenKey = {
  header: string
  sign(claims: object): string
  /** The claims of a token with this header. Undefined if the signature is wrong. */
  verify(token: string): Record<string, unknown> | undefined
}

export const headerOf = (token: string) => token.slice(0, token.indexOf('.'))

export const createTokenKey = (kind: TokenKind, material: Material): TokenKey => {
  const { algorithm, kid } = material
  const [signing, verifying] =
    material.algorithm === 'HS256' ? [material.secret, material.secret] : [material.privateKey, material.publicKey]
  const sign = createSigner({ key: signing, algorithm, kid, header: { alg: algorithm, typ: kind } })
  const verifyJwt = createVerifier({
    key: verifying,
    algorithms: [algorithm],
    checkTyp: kind,
    ignoreExpiration: true,
    ignoreNotBefore: true,
  })
  const shape = shapes[algorithm]
  return {
    header: headerOf(sign({})),
    sign,
    verify: (token) => {
      if (token.length > maximumLength || !shape.test(token)) return undefined
      try {
        return verifyJwt(token)
      } catch {
        return undefined
      }
    },
  }
}
