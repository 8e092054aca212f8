/** Longer than any access token of the service; a longer text is refused unread. */
const longestToken = 2048

const shape = /^([\w-]{1,256})\.([\w-]+)\.([\w-]+)$/

export type TokenText = { header: string; payload: string; signed: string; signature: string }

/** The three parts of a token, or undefined. Neither padding nor another alphabet is accepted. */
export const splitToken = (token: string, longest = longestToken): TokenText | undefined => {
  const [, header, payload, signature] = (token.length <= longest && shape.exec(token)) || []
  if (header === undefined || payload === undefined || signature === undefined) return undefined
  return { header, payload, signed: `${header}.${payload}`, signature }
}

export const utf8 = (text: string) => new TextEncoder().encode(text)

/** Only for text that `splitToken` has accepted. A length that no base64 text has makes `atob` throw. */
export const decodeBase64Url = (text: string) =>
  Uint8Array.from(atob(text.replaceAll('-', '+').replaceAll('_', '/')), (character) => character.charCodeAt(0))

export const encodeBase64Url = (bytes: Uint8Array) =>
  btoa(String.fromCharCode(...bytes))
    .replaceAll('+', '-')
    .replaceAll('/', '_')
    .replaceAll('=', '')

const decoder = new TextDecoder('utf-8', { fatal: true })

/** A part of a token as an object; undefined if it is not base64url, UTF-8 or an object. */
export const readObject = (part: string): Readonly<Record<string, unknown>> | undefined => {
  try {
    const value: unknown = JSON.parse(decoder.decode(decodeBase64Url(part)))
    return isObject(value) ? value : undefined
  } catch {
    return undefined
  }
}

export const isObject = (value: unknown): value is Readonly<Record<string, unknown>> =>
  typeof value === 'object' && value !== null && !Array.isArray(value)
