import { type NamesOf, unknownOptions } from '../../option-names.js'
import type { Fetch } from './bounded-fetch.js'
import { refuseFaults } from './faults.js'
import { createMemorySessions, type OpenidSessions } from './openid-sessions.js'
import { faultOfAddress } from './settings.js'

export type OpenidPaths = {
  /** A link to it begins a sign-in. Default: `/sign-in`. */
  readonly signIn?: string
  /** A form posts to it to sign out. Default: `/sign-out`. */
  readonly signOut?: string
  /** Takes logout notices (`--backchannel-logout`). Default: `/logged-out`. */
  readonly loggedOut?: string
}

export type OpenidOptions = {
  /** As `latchkey application add` prints it, such as `https://auth.example.com/api/auth`. */
  readonly issuer: string
  readonly clientId: string
  /** Left out for an application without a secret. */
  readonly clientSecret?: string | undefined
  /** The registered address of your application to which a sign-in leads back, such as `https://app.example.com/callback`. */
  readonly redirectUri: string
  /** Default: `openid profile email groups`. */
  readonly scope?: string
  readonly paths?: OpenidPaths
  /** Where sessions are kept. Default: the memory of this process. */
  readonly sessions?: OpenidSessions
  /** How long a session lasts at most, in seconds. Default: 12 hours. */
  readonly sessionSeconds?: number
  /** Called with one sentence when something fails. Default: `console.warn`. */
  readonly onProblem?: (message: string) => void
  /** For tests. */
  readonly fetch?: Fetch
  /** Milliseconds since 1970. For tests. */
  readonly now?: () => number
}

const pathNames: NamesOf<OpenidPaths> = { signIn: true, signOut: true, loggedOut: true }
const optionNames: NamesOf<OpenidOptions> = {
  issuer: true,
  clientId: true,
  clientSecret: true,
  redirectUri: true,
  scope: true,
  paths: true,
  sessions: true,
  sessionSeconds: true,
  onProblem: true,
  fetch: true,
  now: true,
}

const usualPaths = { signIn: '/sign-in', signOut: '/sign-out', loggedOut: '/logged-out' }
const usualSession = 12 * 3600

const isOnThisMachine = (hostname: string) => ['localhost', '127.0.0.1', '[::1]'].includes(hostname)

const faultOfEncryption = (name: string, value: string) => {
  const { protocol, hostname } = new URL(value)
  return protocol === 'http:' && !isOnThisMachine(hostname)
    ? `${name}: must begin with https://; http is for this machine (localhost)`
    : undefined
}

const faultOf = (name: string, value: unknown) =>
  faultOfAddress(name, value ?? null) ?? faultOfEncryption(name, String(value))

const faultsOfPaths = (paths: OpenidPaths, redirectUri: string) => {
  const all = { ...usualPaths, ...paths }
  const isPath = (path: unknown) => typeof path === 'string' && /^\/[\w./~-]*$/.test(path) && !path.startsWith('//')
  const used = [...Object.values(all), URL.canParse(redirectUri) ? new URL(redirectUri).pathname : '']
  return [
    ...unknownOptions(paths, pathNames, 'paths'),
    ...Object.entries(all).map(([name, path]) => !isPath(path) && `paths.${name}: must be a path such as /sign-in`),
    new Set(used).size < used.length && 'paths: two of them are the same, or one is that of redirectUri',
  ]
}

/** Returns complete settings, or throws one error with all faults. */
export const readOpenidSettings = (options: OpenidOptions) => {
  const { issuer, clientId, clientSecret, redirectUri, scope = 'openid profile email groups', paths = {} } = options
  const { sessionSeconds = usualSession, now = Date.now } = options
  refuseFaults([
    ...unknownOptions(options, optionNames, 'openidClient'),
    faultOf('issuer', issuer),
    faultOf('redirectUri', redirectUri),
    URL.canParse(redirectUri) &&
      new URL(redirectUri).href !== redirectUri &&
      `redirectUri: write it as ${new URL(redirectUri).href}, and register it so`,
    (typeof clientId !== 'string' || clientId === '') && 'clientId: is empty',
    clientSecret === '' && 'clientSecret: is empty; leave it out if the application has none',
    !scope.split(' ').includes('openid') && 'scope: must contain openid',
    !(sessionSeconds >= 60) && 'sessionSeconds: must be at least 60',
    ...faultsOfPaths(paths, redirectUri),
  ])
  const redirectUrl = new URL(redirectUri)
  return {
    issuer: new URL(issuer),
    clientId,
    clientSecret,
    redirectUrl,
    ownOrigin: redirectUrl.origin,
    /** Whether cookies need https, and may have the prefix that no other host can set. */
    isSecure: redirectUrl.protocol === 'https:',
    scope,
    paths: { ...usualPaths, ...paths },
    sessions: options.sessions ?? createMemorySessions(now),
    sessionSeconds,
    onProblem: options.onProblem ?? ((message: string) => console.warn(`@latchkey/verify: ${message}`)),
    fetch: options.fetch ?? ((input, init) => fetch(input, init)),
    now,
  }
}

export type OpenidSettings = ReturnType<typeof readOpenidSettings>
