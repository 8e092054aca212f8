import { getSystemErrorName } from 'node:util'
import { tlsFaultOf, tlsFaultWords } from '../tls-faults.js'
import type { SmtpServer } from './smtp-address.js'

/** Why the server will never accept this mail, or undefined. A refused password or sender does not count: the operator can fix it. */
export const refusalIn = (error: unknown) => {
  if (!(error instanceof Error)) return undefined
  const { code, command, responseCode } = error as { code?: string; command?: string; responseCode?: number }
  const isFinal = responseCode !== undefined && responseCode >= 500 && responseCode < 600
  const isAboutThisMail = (code === 'EENVELOPE' && command === 'RCPT TO') || code === 'EMESSAGE'
  return isFinal && isAboutThisMail ? `the mail server answered ${responseCode}` : undefined
}

type Failure = {
  code?: string
  originalCode?: string
  command?: string
  response?: string
  responseCode?: number
  errno?: number
}

const longestAnswer = 200

/** The answers to these steps are about the connection or the sender. In other steps the answer may repeat the password or this mail. */
const stepsWithoutSecrets = ['CONN', 'MAIL FROM']

/** The answer of the server. Its text is used only if it can repeat no secret, in one line and without addresses; otherwise its number. */
const answerOf = ({ command = '', response, responseCode }: Failure) => {
  if (!responseCode) return undefined
  const text = stepsWithoutSecrets.includes(command) ? response : undefined
  const line = (text ?? '')
    .replaceAll(/[\s\p{Cc}]+/gu, ' ')
    .replaceAll(/[^\s<>]+@[^\s<>]+/g, '[address]')
    .trim()
  return `answered ${line.slice(0, longestAnswer) || responseCode}`
}

const adviceOn = ({ command, responseCode = 0 }: Failure) =>
  command === 'MAIL FROM' && responseCode >= 500 && '(does it accept the address in MAIL_FROM?)'

/** The part of a failure that may be logged. */
export const withoutSecrets = (error: unknown, { host, port }: SmtpServer) => {
  const failure = (error ?? {}) as Failure
  const { code, originalCode, command, errno } = failure
  const tlsFault = tlsFaultOf(originalCode, error instanceof Error ? error.message : '')
  const parts = [
    code ?? 'unknown failure',
    command && `at ${command}`,
    answerOf(failure),
    adviceOn(failure),
    errno && errno < 0 && `(${getSystemErrorName(errno)})`,
    tlsFault && `(${originalCode}, ${tlsFaultWords[tlsFault]})`,
  ]
  const sentence = `The mail server ${host}:${port} did not take the mail: ${parts.filter(Boolean).join(' ')}`
  return Object.assign(new Error(sentence), { code, ...(tlsFault && { tlsFault, tlsCode: originalCode }) })
}
