import { type AccessClaims, isAccessClaims, type Verified, verifiedOf } from './claims.js'
import { type AnyRequest, headerOf, readCookie } from './cookies.js'
import { createSecretKeys, type VerifyingKey } from './keys.js'
import { createPublishedKeys } from './published-keys.js'
import { followRevocations, type RevocationState } from './revocations.js'
import { readSettings, type Settings, type VerifierOptions } from './settings.js'
import { readObject, splitToken } from './token-text.js'

export type VerifyRefusal =
  /** There is no access token. */
  | 'missing'
  /** Two cookies with one name: one of them was planted. */
  | 'doubled'
  | 'malformed'
  /** There is no key for the token: another algorithm, another type of token, or a key that is not published. */
  | 'unknown_key'
  | 'bad_signature'
  | 'bad_claims'
  /** The token is from another service, or for another audience. */
  | 'wrong_issuer'
  | 'expired'
  | 'not_yet_valid'
  /** The user signed out, or the session was ended in another way. */
  | 'ended'
  /** The token cannot be checked now, as the keys or the list of ended sessions were never read, or the list is too old. No sign-out. */
  | 'unavailable'

export type Refused = { readonly ok: false; readonly code: VerifyRefusal; readonly user?: undefined }
export type Verification = Verified | Refused

const refuse = (code: VerifyRefusal): Refused => ({ ok: false, code })

const keysFor = ({ secret, jwksUrl: url, fetch, now, onProblem }: Settings) =>
  secret === undefined ? createPublishedKeys({ url, fetch, now, onProblem }) : createSecretKeys(secret)

const listFor = ({ revocations, fetch, now, onProblem }: Settings) =>
  revocations && followRevocations({ ...revocations, fetch, now, onProblem })

/** How often `ready` checks, in milliseconds. */
const pollInterval = 200

/** Checks what changes from one request to the next: the time, and the list of ended sessions. */
export const createCurrentCheck = (
  settings: Pick<Settings, 'revocations' | 'leeway' | 'now'>,
  list: ReturnType<typeof listFor>,
) => {
  const { revocations, leeway, now } = settings
  const isListUsable = () => {
    if (!list || !revocations) return true
    const { loaded, age = 0 } = list.state()
    return loaded ? age <= revocations.maxAge : revocations.whileUnknown === 'accept'
  }
  return (claims: Pick<AccessClaims, 'iat' | 'nbf' | 'exp' | 'sid' | 'gen' | 'userId'>): VerifyRefusal | undefined => {
    const { iat, nbf = 0, exp } = claims
    const seconds = now() / 1000
    if (exp <= seconds) return 'expired'
    if (Math.max(iat, nbf) > seconds + leeway) return 'not_yet_valid'
    if (list?.refusesToken(claims)) return 'ended'
    return isListUsable() ? undefined : 'unavailable'
  }
}

/** Checks signature and claims once for each token, and at every request what can change. */
const createTokenCheck = (settings: Settings, keys: ReturnType<typeof keysFor>, list: ReturnType<typeof listFor>) => {
  const { publicUrl } = settings
  const refusalNow = createCurrentCheck(settings, list)
  const verifiedTokens = createVerifiedTokens()

  const recall = async (token: string) => {
    await keys.refresh()
    const found = verifiedTokens.find(token)
    return found && keys.holds(found.signedBy) ? found : undefined
  }

  const checkText = async (token: string): Promise<Proven | Refused> => {
    const text = splitToken(token)
    if (!text) return refuse('malformed')
    const signedBy = await keys.check(text)
    if (typeof signedBy === 'string') return refuse(signedBy)
    const claims = readObject(text.payload)
    if (!claims || !isAccessClaims(claims)) return refuse('bad_claims')
    if (claims.iss !== publicUrl || claims.aud !== publicUrl) return refuse('wrong_issuer')
    return { verified: verifiedOf(claims), signedBy }
  }

  return async (token: string | undefined): Promise<Verification> => {
    if (typeof token !== 'string' || token === '') return refuse('missing')
    const known = await recall(token)
    const checked = known ?? (await checkText(token))
    if ('code' in checked) return checked
    const { verified, signedBy } = checked
    // No `await` follows, so a key that was withdrawn during the check is noticed here.
    if (!keys.holds(signedBy)) return refuse('unknown_key')
    const refusal = refusalNow(verified.claims)
    if (refusal) return refuse(refusal)
    if (!known) verifiedTokens.remember(token, checked)
    return verified
  }
}

export type Verifier = ReturnType<typeof createVerifier>

/** Checks access tokens of one Latchkey service. A wrong option throws an error at once; a bad token never does. */
export const createVerifier = (options: VerifierOptions) => {
  const settings = readSettings(options)
  const keys = keysFor(settings)
  const list = listFor(settings)
  const verifyToken = createTokenCheck(settings, keys, list)
  let isClosed = false

  const { publicUrl, serviceUrl, fetch, now, onProblem } = settings
  return {
    /** The settings that the middleware needs. No secret is among them. */
    service: { publicUrl, serviceUrl, fetch, now, onProblem },
    /** Checks any access token, wherever it comes from. */
    verifyToken,
    /** Checks the access token in the cookie of a request. */
    verify: async (request: AnyRequest): Promise<Verification> => {
      const { value, isDoubled } = readCookie(headerOf(request, 'cookie'), 'access_token')
      return isDoubled ? refuse('doubled') : verifyToken(value)
    },
    /**
     * Resolves when keys and ended sessions have been read, and tries until then. Call it before you listen. It rejects if the
     * service publishes no keys or does not know the service key: waiting would not help.
     */
    ready: async () => {
      for (;;) {
        if (isClosed) throw new Error('The verifier was closed')
        await keys.refresh()
        const isListRead = list?.state().loaded ?? true
        const problem = keys.lastingProblem() ?? (isListRead ? undefined : list?.lastingProblem())
        if (problem !== undefined) throw new Error(problem)
        if (keys.areLoaded() && isListRead) return
        await new Promise((resolve) => setTimeout(resolve, pollInterval))
      }
    },
    /** Whether the list of ended sessions now refuses the token of this user, which was accepted before. */
    hasEnded: ({ claims }: Verified) => list?.refusesToken(claims) ?? false,
    /** How old the list of ended sessions is. Undefined if none is followed. */
    revocations: (): RevocationState | undefined => list?.state(),
    /** Stops following the list, so that the program can end. */
    close: () => {
      isClosed = true
      list?.close()
    },
  }
}

/** The claims of a token, and the key that proves them. */
type Proven = { readonly verified: Verified; readonly signedBy: VerifyingKey }

/** The number of tokens in each half. A token with its claims takes about 4 KB, so both halves together stay under 8 MB. */
const maxTokens = 1_000

/** Copies the token: a part of a longer text keeps the whole text in memory, here a header with all cookies. */
const ownText = (token: string) => new TextDecoder().decode(new TextEncoder().encode(token))

/**
 * Tokens whose signature was checked, by their whole text: WebCrypto takes some hundred microseconds for a signature, and a lookup here
 * takes two. When the newer half is full, it takes the place of the older one, whose tokens are forgotten. Each request still checks
 * whether the token is valid *now*, and whether its key is still in use.
 */
const createVerifiedTokens = () => {
  let newer = new Map<string, Proven>()
  let older = new Map<string, Proven>()
  const remember = (token: string, proven: Proven) => {
    if (newer.size >= maxTokens) {
      older = newer
      newer = new Map()
    }
    newer.set(ownText(token), proven)
    return proven
  }
  return {
    remember,
    find: (token: string) => {
      const proven = newer.get(token)
      if (proven) return proven
      const earlier = older.get(token)
      return earlier && remember(token, earlier)
    },
    size: () => newer.size + older.size,
  }
}
