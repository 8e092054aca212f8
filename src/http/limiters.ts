import type { LimitCode } from '../contract/limits.js'
import { hours, minutes } from '../lib/durations.js'
import type { Limit } from '../platform/cache/cache.js'

/**
 * What a counter counts by: a client network, all networks of a customer (`connection`), a session, a user, a typed name, a device, the key
 * of a program, an application, an application in a session (`authorization`), or everybody together (`installation`).
 */
type CounterSubject =
  | 'network'
  | 'connection'
  | 'session'
  | 'session at a network'
  | 'user'
  | 'name'
  | 'device'
  | 'key'
  | 'application'
  | 'authorization'
  | 'installation'

/** The settings that have limits. */
type LimitSetting =
  | 'LOGIN_LIMIT'
  | 'ACCOUNT_LIMIT'
  | 'SIGN_IN_LIMIT'
  | 'NETWORK_SIGN_IN_LIMIT'
  | 'NETWORK_MAIL_LIMIT'
  | 'GENERAL_LIMIT'
  | 'SENSITIVE_LIMIT'
  | 'TOTAL_REGISTRATION_LIMIT'
  | 'TOTAL_MAIL_LIMIT'
  | 'TOTAL_WAITING_LIMIT'

/** What the client sees of a limiter, and what it gets back. */
type Answering<Code extends LimitCode | null> = {
  /** The refusal of a request that is one too many. Null: the answer must not show it. */
  code: Code
  /** An attempt that succeeded, or that could not be checked, is given back, by `refundSuccess` of the route. */
  refundsSuccess?: true
  /** Only an attempt that the service could not answer (5xx) is given back, by `refundFailure` of the route. */
  refundsFailure?: true
  /** Only a refusal has the headers of this limiter. Other answers keep the headers of another limiter of the route, such as `login`. */
  silent?: true
  /** A refusal says how long this limiter really waits, in `Retry-After` and in the body, instead of the fixed words of its code. */
  tellsWait?: true
  /** The sentence for programs, instead of the one for users. */
  protocolMessage?: string
}

export type LimiterRow = Answering<LimitCode | null> & {
  countsBy: readonly CounterSubject[]
  /** The name of the setting that has the limit, or the limit itself. */
  limit: LimitSetting | Limit
  /** Half of the limit, rounded up. */
  half?: true
  /**
   * Whether a refusal is recorded as an event, because it can prevent a sign-in or a mail. Other refusals are only in the log and the
   * metrics.
   */
  refusalIsEvent: boolean
  /** A description of what is counted, for docs/api.md. */
  about: string
}

/** Every limiter: nothing else counts. The labels of metrics, `latchkey limits clear` and docs/api.md are made from this table, too. */
export const limiters = {
  login: {
    countsBy: ['network', 'device'],
    limit: 'LOGIN_LIMIT',
    code: 'too_many_logins',
    refundsSuccess: true,
    refusalIsEvent: true,
    about:
      'failed sign-ins, password changes, step-ups and email changes with a password, by client network; with `LOGIN_LIMIT_KNOWN_DEVICES=own` by each known device',
  },
  account: {
    countsBy: ['name'],
    limit: 'ACCOUNT_LIMIT',
    code: 'too_many_logins',
    refundsSuccess: true,
    silent: true,
    refusalIsEvent: true,
    about: 'the same, by the name that was typed, from unknown devices',
  },
  device: {
    countsBy: ['device'],
    limit: { maximum: 10, window: 1 * hours },
    code: 'too_many_logins',
    refundsSuccess: true,
    silent: true,
    refusalIsEvent: false,
    about: 'the same, by known device; above that the device counts as unknown',
  },
  known: {
    countsBy: ['user'],
    limit: { maximum: 50, window: 1 * hours },
    code: 'too_many_logins',
    refundsSuccess: true,
    silent: true,
    refusalIsEvent: false,
    about: 'the same, of all known devices of an account together; above that they count as unknown',
  },
  sign_ins: {
    countsBy: ['user'],
    limit: 'SIGN_IN_LIMIT',
    code: 'too_many_logins',
    silent: true,
    tellsWait: true,
    refusalIsEvent: true,
    about:
      'sign-ins with the right password, by account, of all new devices together. A new password starts the count anew',
  },
  known_sign_ins: {
    countsBy: ['device'],
    limit: 'SIGN_IN_LIMIT',
    code: 'too_many_logins',
    silent: true,
    tellsWait: true,
    refusalIsEvent: true,
    about: 'the same, by known device',
  },
  network_sign_ins: {
    countsBy: ['network'],
    limit: 'NETWORK_SIGN_IN_LIMIT',
    code: 'too_many_logins',
    silent: true,
    tellsWait: true,
    refusalIsEvent: true,
    about: 'the same, by client network, of all accounts; with `LOGIN_LIMIT_KNOWN_DEVICES=own` not for known devices',
  },
  network_mails: {
    countsBy: ['connection'],
    limit: 'NETWORK_MAIL_LIMIT',
    code: null,
    refusalIsEvent: true,
    about:
      'mails to addresses that the client has not proven, by IPv4 address or IPv6 /56. Above it no mail is sent, and the answers are the same',
  },
  general: {
    countsBy: ['network', 'session'],
    limit: 'GENERAL_LIMIT',
    code: 'too_many_requests',
    refusalIsEvent: false,
    about: 'requests: by session where access is needed, else by client network',
  },
  session: {
    countsBy: ['network', 'session'],
    limit: 'GENERAL_LIMIT',
    code: 'too_many_requests',
    refusalIsEvent: false,
    about: 'refreshes, and rotations by the access check, by session, else by client network',
  },
  bound_refreshes: {
    countsBy: ['session at a network'],
    limit: 'GENERAL_LIMIT',
    code: null,
    refusalIsEvent: false,
    about:
      'refreshes of a bound session by its browser, by session and client network: whoever has copied a cookie uses up nothing elsewhere. Above it they are answered with 503',
  },
  refused_proofs: {
    countsBy: ['session'],
    limit: { maximum: 3, window: 1 * hours },
    code: null,
    refusalIsEvent: false,
    about: 'proofs of a bound session that its key has not signed, by session. The third is told to its user by mail',
  },
  refused_proof_events: {
    countsBy: ['session'],
    limit: { maximum: 1, window: 1 * minutes },
    code: null,
    refusalIsEvent: false,
    about: 'the same. Above it no event is recorded, and the answers are the same',
  },
  logout: {
    countsBy: ['network', 'session'],
    limit: 'GENERAL_LIMIT',
    code: 'too_many_requests',
    refusalIsEvent: false,
    about: 'logout and logout-all, by session, else by client network',
  },
  sensitive: {
    countsBy: ['network'],
    limit: 'SENSITIVE_LIMIT',
    code: 'too_many_attempts',
    refundsFailure: true,
    refusalIsEvent: true,
    about: 'requests for a reset mail, by client network',
  },
  confirm: {
    countsBy: ['network'],
    limit: 'LOGIN_LIMIT',
    code: 'too_many_requests',
    refundsSuccess: true,
    refusalIsEvent: true,
    about: 'failed tries to confirm a reset, to undo a change or to sign in by mail, by client network',
  },
  setup: {
    countsBy: ['network'],
    limit: { maximum: 10, window: 1 * hours },
    code: 'too_many_requests',
    refusalIsEvent: false,
    about: 'wrong tokens of the setup, by client network. A right one always works',
  },
  device_codes: {
    countsBy: ['user'],
    limit: { maximum: 10, window: 1 * hours },
    code: 'too_many_requests',
    refusalIsEvent: false,
    about:
      'wrong codes of the second step, of all known devices of an account together; all other devices together have as many, counted in the database',
  },
  mailed_codes: {
    countsBy: ['user'],
    limit: { maximum: 5, window: 1 * hours },
    code: 'too_many_requests',
    refusalIsEvent: false,
    about: 'mails with a code, by user; begins anew after a reset of the password',
  },
  mail_sign_ins: {
    countsBy: ['name', 'device'],
    limit: { maximum: 5, window: 1 * hours },
    code: null,
    refusalIsEvent: true,
    about:
      'mails to sign in (`MAIL_SIGN_IN`), by mailbox, all spellings of its address together; by each known device. Above it no mail is sent, and the answers are the same',
  },
  network_mail_sign_ins: {
    countsBy: ['connection'],
    limit: { maximum: 10, window: 1 * hours },
    code: null,
    refusalIsEvent: true,
    about: 'the same, by IPv4 address or IPv6 /56, to all mailboxes together',
  },
  account_changes: {
    countsBy: ['user'],
    limit: { maximum: 30, window: 1 * hours },
    code: 'too_many_requests',
    refusalIsEvent: false,
    about: 'changes by sessions of an account that send its owner a mail. Links in mails and operators are not counted',
  },
  email_changes: {
    countsBy: ['user'],
    limit: { maximum: 10, window: 1 * hours },
    code: 'too_many_requests',
    refusalIsEvent: false,
    about: 'requests to change the email address, by user: each sends two mails',
  },
  administrators: {
    countsBy: ['session'],
    limit: { maximum: 1_000, window: 15 * minutes },
    code: 'too_many_requests',
    refusalIsEvent: false,
    about: 'requests to the API of administrators, by session',
  },
  authorization_requests: {
    countsBy: ['network', 'user'],
    limit: { maximum: 300, window: 15 * minutes },
    code: 'too_many_requests',
    refusalIsEvent: false,
    about: 'new authorization requests of applications: by user if the browser is signed in, else by client network',
  },
  client_documents: {
    countsBy: ['connection'],
    limit: { maximum: 30, window: 15 * minutes },
    code: 'too_many_requests',
    refusalIsEvent: false,
    about: 'documents of programs that are fetched (`CLIENT_DOCUMENTS`), by IPv4 address or IPv6 /48',
  },
  posted_pages: {
    countsBy: ['network'],
    limit: { maximum: 300, window: 15 * minutes },
    code: 'too_many_requests',
    refusalIsEvent: false,
    about:
      'forms with which applications send users here, to sign in or out, by client network. Users that come by a link are not counted',
  },
  device_requests: {
    countsBy: ['network'],
    limit: { maximum: 100, window: 15 * minutes },
    code: 'too_many_requests',
    refusalIsEvent: false,
    about: 'devices without a browser that ask to sign in, by client network',
  },
  user_codes: {
    countsBy: ['user'],
    limit: { maximum: 10, window: 15 * minutes },
    code: 'too_many_requests',
    refundsSuccess: true,
    refusalIsEvent: false,
    about: 'wrong codes that are entered to let a device without a browser sign in, by user',
  },
  network_user_codes: {
    countsBy: ['network'],
    limit: { maximum: 30, window: 15 * minutes },
    code: 'too_many_requests',
    refundsSuccess: true,
    refusalIsEvent: false,
    about: 'the same, by client network, of all users',
  },
  service: {
    countsBy: ['key'],
    limit: { maximum: 600, window: 1 * minutes },
    code: 'too_many_requests',
    refusalIsEvent: false,
    about: 'requests with a service key, by key, except those that `service_revocations` and `service_tokens` count',
  },
  service_sign_outs: {
    countsBy: ['user'],
    limit: { maximum: 10, window: 1 * hours },
    code: 'too_many_requests',
    refusalIsEvent: false,
    about:
      'sign-outs of a user by programs with a service key, of all keys together: a stolen key must keep no one out',
  },
  service_revocations: {
    countsBy: ['key'],
    limit: { maximum: 600, window: 1 * minutes },
    code: 'too_many_requests',
    refusalIsEvent: false,
    about: 'reads of the list of ended sessions, by key. Other requests of the program do not count here',
  },
  service_tokens: {
    countsBy: ['key'],
    limit: { maximum: 60_000, window: 1 * minutes },
    code: 'too_many_requests',
    refusalIsEvent: false,
    about:
      'checks of the tokens of applications, by key. The limit is high because anyone can make a program ask, by sending it random tokens',
  },
  client_failures: {
    countsBy: ['network'],
    limit: 'LOGIN_LIMIT',
    code: 'too_many_requests',
    protocolMessage:
      'Too many wrong secrets or ids of clients came from this network. Correct them: a right secret works at once',
    refusalIsEvent: false,
    about:
      'requests of applications that do not authenticate rightly, by client network. A right secret works all the same, and passwords are not counted here',
  },
  token_failures: {
    countsBy: ['network'],
    limit: { maximum: 300, window: 15 * minutes },
    code: 'too_many_requests',
    refusalIsEvent: false,
    about:
      'wrong personal tokens at the check of a proxy, by client network, in each process. A right one works all the same, and sign-ins are not counted here',
  },
  application: {
    countsBy: ['application'],
    limit: { maximum: 600, window: 1 * minutes },
    code: 'too_many_requests',
    refusalIsEvent: false,
    about:
      'requests of an application for tokens, and to revoke them, by application; without a secret by application and client network',
  },
  userinfo_refusals: {
    countsBy: ['network'],
    limit: { maximum: 600, window: 1 * minutes },
    code: 'too_many_requests',
    refundsSuccess: true,
    silent: true,
    refusalIsEvent: false,
    about: 'requests about a user with a token that is not valid, by client network',
  },
  userinfo: {
    countsBy: ['authorization'],
    limit: { maximum: 60, window: 1 * minutes },
    code: 'too_many_requests',
    refusalIsEvent: false,
    about: 'requests of an application about its user, by session and application',
  },
  ceiling_shares: {
    countsBy: ['connection'],
    limit: 'TOTAL_WAITING_LIMIT',
    code: null,
    refusalIsEvent: false,
    about:
      'what one IPv4 address or IPv6 /48 may use of each limit of everybody together, so that nobody reaches it alone: a twentieth of it, but at least 100',
  },
  total_registrations: {
    countsBy: ['installation'],
    limit: 'TOTAL_REGISTRATION_LIMIT',
    code: 'too_many_requests',
    refusalIsEvent: true,
    about: 'new accounts, of everybody together. With an invitation, by a command or by an import they are not counted',
  },
  total_mails: {
    countsBy: ['installation'],
    limit: 'TOTAL_MAIL_LIMIT',
    code: null,
    refusalIsEvent: true,
    about:
      'mails that visitors cause, of everybody together: registrations, resets, sign-ins by mail in new browsers. Above it no mail is sent, and the answers are the same',
  },
  total_newcomer_mails: {
    countsBy: ['installation'],
    limit: 'TOTAL_MAIL_LIMIT',
    code: null,
    half: true,
    refusalIsEvent: true,
    about:
      'of these, the mails of registrations: half of the limit, so that people who have an account still get theirs',
  },
  total_mail_sign_ins: {
    countsBy: ['installation'],
    limit: 'TOTAL_WAITING_LIMIT',
    code: 'too_many_requests',
    refusalIsEvent: true,
    about:
      'sign-ins by mail that wait, of everybody together. A browser in which the account was signed in before is not counted',
  },
  total_authorization_requests: {
    countsBy: ['installation'],
    limit: 'TOTAL_WAITING_LIMIT',
    code: 'too_many_requests',
    refusalIsEvent: true,
    about: 'new authorization requests of visitors who are not signed in, of everybody together',
  },
  total_device_requests: {
    countsBy: ['installation'],
    limit: 'TOTAL_WAITING_LIMIT',
    code: 'too_many_requests',
    refusalIsEvent: true,
    about: 'devices without a browser that ask to sign in, of everybody together',
  },
  total_client_documents: {
    countsBy: ['installation'],
    limit: { maximum: 60, window: 1 * minutes },
    code: 'too_many_requests',
    refusalIsEvent: false,
    about:
      'documents of programs that are fetched, of everybody together; visitors who are not signed in may use half of it',
  },
} as const satisfies Record<string, LimiterRow>

export type LimiterName = keyof typeof limiters

export const isLimiterName = (name: string): name is LimiterName => Object.hasOwn(limiters, name)

export const limiterNames = Object.keys(limiters) as LimiterName[]

/** The limiters that count by this subject. */
export const limitersOf = (subject: CounterSubject) =>
  limiterNames.filter((name) => (limiters[name].countsBy as readonly CounterSubject[]).includes(subject))

/** The subject of a user in the keys of limiters. */
export const userSubject = (userId: string) => `user:${userId}`

/** The subject of a session in the keys of limiters. */
export const sessionSubject = (sessionId: string) => `session:${sessionId}`

/** The subject of a session for the clients of one network. */
export const sessionAtNetworkSubject = (sessionId: string, network: string) => `${sessionSubject(sessionId)}:${network}`

/** The subject of a known device of a user. It begins with the user, so that a command finds all known devices of the user. */
export const deviceSubject = (userId: string, device: string) => `device:${userId}:${device}`

/** The beginnings of the keys that count by known device, for all known devices of a user. */
export const deviceKeyPrefixes = (userId: string) =>
  limitersOf('device').map((name) => limiterKey(name, deviceSubject(userId, '')))

/** The key of a counter. */
export const limiterKey = (name: LimiterName, subject: string) => `${name}:${subject}`

/** A row of the table that can count: with its name, and with the limit of its setting. */
export type Limiter<Code extends LimitCode | null = LimitCode> = Answering<Code> & { name: LimiterName; limit: Limit }

type CodeOf<Name extends LimiterName> = (typeof limiters)[Name]['code']
type LimitsOfSettings = Readonly<Record<LimitSetting, Limit>>

const halved = ({ maximum, window }: Limit): Limit => ({ maximum: Math.ceil(maximum / 2), window })

const limiterWith = <Name extends LimiterName>(name: Name, limits: Partial<LimitsOfSettings>) => {
  const { countsBy: _, refusalIsEvent: __, about: ___, half, limit: own, ...answering }: LimiterRow = limiters[name]
  const limit = typeof own === 'string' ? limits[own] : own
  if (!limit) throw new Error(`The limiter ${name} needs its setting`)
  return { name, limit: half ? halved(limit) : limit, ...answering } as Limiter<CodeOf<Name>>
}

type FixedLimiterName = {
  [Name in LimiterName]: (typeof limiters)[Name]['limit'] extends string ? never : Name
}[LimiterName]

/** A limiter whose limit is no setting. */
export const fixedLimiter = <Name extends FixedLimiterName>(name: Name) => limiterWith(name, {})

export type RouteLimiters = { readonly [Name in LimiterName]: Limiter<CodeOf<Name>> }

/** The limiters of a service, with the limits of its settings. */
export const routeLimitersFor = (limits: LimitsOfSettings) =>
  Object.fromEntries(limiterNames.map((name) => [name, limiterWith(name, limits)])) as RouteLimiters
