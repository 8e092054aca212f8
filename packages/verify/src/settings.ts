import { type NamesOf, unknownOptions } from '../../option-names.js'
import type { Fetch } from './bounded-fetch.js'
import { refuseFaults } from './faults.js'

/** A verifier with a secret checks HS256 and nothing else, one with `jwks` checks ES256 and nothing else. */
type KeySource =
  | {
      /** `JWT_SECRET` of the service, as it is written there. With it, this program can sign in as any user. */
      secret: string | readonly string[]
      jwks?: never
    }
  | {
      /** True: `/.well-known/jwks.json` of the service. Otherwise the address of the keys. */
      jwks: true | string
      secret?: never
    }

export type RevocationSettings = {
  /** The key that `latchkey service-key add NAME` prints. */
  serviceKey: string
  /** Default: `/api/service/revocations` of the service. */
  url?: string
  /** What happens to tokens before the list was read for the first time. Default: `refuse`, which is a 503 in the middleware. */
  whileUnknown?: 'refuse' | 'accept'
  /** Refuses all tokens while the list is older than so many seconds. At least 60. Default: no limit. */
  maxAge?: number
}

export type VerifierOptions = KeySource & {
  /** `PUBLIC_URL` of the service. Tokens of another issuer are refused. */
  publicUrl: string
  /** The URL at which this program reaches the service, if it is not `publicUrl`, such as `http://127.0.0.1:3000`. */
  serviceUrl?: string
  /** Follows the list of ended sessions. Without it, the token of an ended session is good until it expires. */
  revocations?: RevocationSettings
  /** Seconds that the clock of this machine may be behind that of the service. Default: 30, at most 120. */
  leeway?: number
  /** Called with one sentence when the service cannot be used. Default: `console.warn`. */
  onProblem?: (message: string) => void
  /** For tests. */
  fetch?: Fetch
  /** Milliseconds since 1970. For tests. */
  now?: () => number
}

const optionNames: NamesOf<VerifierOptions> = {
  publicUrl: true,
  jwks: true,
  secret: true,
  serviceUrl: true,
  revocations: true,
  leeway: true,
  onProblem: true,
  fetch: true,
  now: true,
}
const revocationNames: NamesOf<RevocationSettings> = { serviceKey: true, url: true, whileUnknown: true, maxAge: true }

const usualLeeway = 30
const longestLeeway = 120
const shortestMaxAge = 60

/** The fault of an address; undefined if it is right or left out. */
export const faultOfAddress = (name: string, value: unknown) => {
  if (value === undefined) return undefined
  if (value === '') return `${name}: is empty`
  if (typeof value !== 'string' || !URL.canParse(value)) return `${name}: must be an address`
  const { protocol, username, password, search, hash } = new URL(value)
  const isUsable = /^https?:$/.test(protocol) && !username && !password && !search && !hash
  return isUsable ? undefined : `${name}: must be an address such as https://auth.example.com`
}

/** An address without a slash at the end. */
export const addressOf = (name: string, value: string) => {
  refuseFaults([faultOfAddress(name, value)])
  return new URL(value).href.replace(/\/+$/, '')
}

/** The fault of a service key; undefined if it is right. */
export const faultOfServiceKey = (name: string, value: unknown) => {
  if (value === '') return `${name}: is empty`
  return typeof value === 'string' && /^[\x21-\x7e]{16,}$/.test(value) ? undefined : `${name}: must be a service key`
}

const faultsOfRevocations = (revocations: RevocationSettings) => {
  const { serviceKey, url, whileUnknown = 'refuse', maxAge = shortestMaxAge } = revocations
  return [
    ...unknownOptions(revocations, revocationNames, 'revocations'),
    faultOfServiceKey('revocations.serviceKey', serviceKey),
    faultOfAddress('revocations.url', url),
    !['refuse', 'accept'].includes(whileUnknown) && 'revocations.whileUnknown: must be refuse or accept',
    !(maxAge >= shortestMaxAge) && `revocations.maxAge: must be at least ${shortestMaxAge} seconds`,
  ]
}

/** The faults of the options. Each names the option and not its value. `owner` is the function to which the options were passed. */
export const faultsOfOptions = (options: VerifierOptions, owner: string) => {
  const { publicUrl, serviceUrl, secret, jwks, revocations, leeway = usualLeeway } = options
  // The types are checked here, too, because a program in JavaScript has none.
  return [
    ...unknownOptions(options, optionNames, owner),
    faultOfAddress('publicUrl', publicUrl ?? null),
    faultOfAddress('serviceUrl', serviceUrl),
    secret !== undefined && jwks !== undefined && 'Give either secret or jwks, not both',
    secret === undefined && jwks === undefined && 'Give either secret or jwks: both are missing',
    jwks !== undefined && jwks !== true && typeof jwks !== 'string' && 'jwks: must be true or an address',
    typeof jwks === 'string' && faultOfAddress('jwks', jwks),
    !(leeway >= 0 && leeway <= longestLeeway) && `leeway: must be 0 to ${longestLeeway} seconds`,
    ...(revocations ? faultsOfRevocations(revocations) : []),
  ]
}

/** Returns complete settings, or throws an error. */
export const readSettings = (options: VerifierOptions) => {
  refuseFaults(faultsOfOptions(options, 'createVerifier'))
  const { secret, jwks, revocations, leeway = usualLeeway } = options
  const publicUrl = addressOf('publicUrl', options.publicUrl)
  const serviceUrl = addressOf('serviceUrl', options.serviceUrl ?? publicUrl)
  return {
    publicUrl,
    serviceUrl,
    leeway,
    secret,
    jwksUrl: typeof jwks === 'string' ? addressOf('jwks', jwks) : `${serviceUrl}/.well-known/jwks.json`,
    revocations: revocations && {
      whileUnknown: revocations.whileUnknown ?? 'refuse',
      maxAge: revocations.maxAge ?? Number.POSITIVE_INFINITY,
      serviceKey: revocations.serviceKey,
      url: addressOf('revocations.url', revocations.url ?? `${serviceUrl}/api/service/revocations`),
    },
    onProblem: options.onProblem ?? ((message: string) => console.warn(`@latchkey/verify: ${message}`)),
    fetch: options.fetch ?? ((input, init) => fetch(input, init)),
    now: options.now ?? Date.now,
  }
}

export type Settings = ReturnType<typeof readSettings>
