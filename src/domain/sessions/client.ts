import type { Language } from '../../contract/languages.js'

/**
 * An administrator who changes something of others, or a program with a service key. The event of the change has who it was and their
 * reason, and is not written unless the administrator is still in one of `groups`. Accounts in
 * `exemptGroups` they cannot change.
 */
export type Actor = { exemptGroups: readonly string[]; reason?: string | undefined } & (
  | { userId: string; sessionId: string; groups: readonly string[]; serviceKey?: undefined }
  | { serviceKey: string; userId?: undefined }
)

/**
 * The client that asks, as a record, an event and a mail keep it. `typedName` is the name in the sign-in form: it may be a password by
 * mistake, so it is never stored or logged as it is. `language` is that of the browser; mails about an account are written in
 * the language of the account. `browser` is what all sessions of one known browser have in common.
 * `actor`: for what an administrator or a program with a key does.
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

/** Instead of the address, for what an operator does. */
export const commandLine = 'command line'

/** No address, and the account on the operator's machine as the device. */
export const operatorClient = (name: string): Client => ({ ip: commandLine, userAgent: name })

/**
 * True for those whom users know as administrators: an operator at the command line, an administrator in a browser, or a program of
 * theirs.
 */
export const isAdministrator = ({ ip, actor }: Pick<Client, 'ip' | 'actor'>) =>
  ip === commandLine || actor !== undefined
