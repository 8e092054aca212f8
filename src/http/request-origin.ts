import type { AdminRole } from '../contract/admin/admin-bodies.js'
import type { Language } from '../contract/languages.js'

/**
 * An administrator who changes something of others, or a program with a service key. The event of the change names the actor and the
 * reason. The change is rolled back unless the administrator is still in one of `groups`. An actor cannot change accounts in
 * `protectedGroups`; `all` are those of administrators and of support.
 */
export type Actor = { protectedGroups: readonly string[] | 'all'; reason?: string | undefined } & (
  | { userId: string; sessionId: string; role: AdminRole; groups: readonly string[]; serviceKey?: undefined }
  | { serviceKey: string; userId?: undefined; role?: undefined }
)

/**
 * The client of a request, in the form that records, events and mails keep. `typedName` is the name in the sign-in form. It may be a
 * password by mistake, so it is never stored or logged as it is. `language` is that of the browser, while mails about an account are in the
 * language of the account. `browser` is what all sessions of one known browser have in common. `actor` is set for what an administrator or
 * a program with a key does.
 */
export type Client = {
  ip: string
  userAgent: string
  requestId?: string
  typedName?: string
  language?: Language
  browser?: string | undefined
  actor?: Actor
}

/** The value of `ip` for what an operator does at the command line. */
export const commandLineIp = 'command line'

/** The client of an operator: no address, and the name of their account on the machine in place of a device. */
export const operatorClient = (name: string): Client => ({ ip: commandLineIp, userAgent: name })

/**
 * True for clients that users know as administrators: an operator at the command line, an administrator in a browser, or a program with a
 * key.
 */
export const isAdministrator = ({ ip, actor }: Pick<Client, 'ip' | 'actor'>) =>
  ip === commandLineIp || actor !== undefined
