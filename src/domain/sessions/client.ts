import type { Language } from '../../contract/languages.js'

/**
 * Who asks, as a record, an event and a mail keep it. `typedName` is the name in the sign-in form: it may be a password by
 * mistake, so it is never stored or logged as it is. `language` is that of the browser; mails about an account are written in
 * the language of the account. `browser` is what all sessions of one known browser have in common.
 */
export type Client = {
  ip: string
  userAgent: string
  requestId?: string
  typedName?: string
  language?: Language
  browser?: string | undefined
}

/** Instead of the address, for what an operator does. */
export const commandLine = 'command line'

/** No address, and the account on the operator's machine as the device. */
export const operatorClient = (name: string): Client => ({ ip: commandLine, userAgent: name })

export const isOperator = ({ ip }: Pick<Client, 'ip'>) => ip === commandLine
