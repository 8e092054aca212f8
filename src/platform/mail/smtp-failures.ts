import { getSystemErrorName } from 'node:util'
import { tlsFaultOf, tlsFaultWords } from '../tls-faults.js'
import type { SmtpServer } from './smtp-address.js'

/** Only a recipient or a message is refused for good. A refused password or sender is for the operator to fix. */
export const refusalIn = (error: unknown) => {
  if (!(error instanceof Error)) return undefined
  const { code, command, responseCode } = error as { code?: string; command?: string; responseCode?: number }
  const isFinal = responseCode !== undefined && responseCode >= 500 && responseCode < 600
  const isAboutThisMail = (code === 'EENVELOPE' && command === 'RCPT TO') || code === 'EMESSAGE'
  return isFinal && isAboutThisMail ? `the mail server answered ${responseCode}` : undefined
}

type Failure = { code?: string; originalCode?: string; command?: string; responseCode?: number; errno?: number }

/** The part of a failure that may be logged. The server's own message can repeat the address or a part of the mail. */
export const withoutSecrets = (error: unknown, { host, port }: SmtpServer) => {
  const { code, originalCode, command, responseCode, errno } = (error ?? {}) as Failure
  const tlsFault = tlsFaultOf(originalCode, error instanceof Error ? error.message : '')
  const parts = [
    code ?? 'unknown failure',
    command && `at ${command}`,
    responseCode && `answered ${responseCode}`,
    errno && errno < 0 && `(${getSystemErrorName(errno)})`,
    tlsFault && `(${originalCode}, ${tlsFaultWords[tlsFault]})`,
  ]
  const sentence = `The mail server ${host}:${port} did not take the mail: ${parts.filter(Boolean).join(' ')}`
  return Object.assign(new Error(sentence), { code, ...(tlsFault && { tlsFault, tlsCode: originalCode }) })
}
