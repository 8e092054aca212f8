import { getSystemErrorName } from 'node:util'
import { minutes, seconds } from '../../lib/durations.js'
import { withTimeout } from '../../lib/timing.js'
import { tlsFaultOf, tlsFaultWords } from '../invalid-address.js'
import type { Delivery, Mail, Mailer } from './mail.js'
import type { SmtpServer } from './smtp-address.js'

/** Why the server will never accept this mail, or undefined. A refused password or sender does not count: the operator can fix it. */
const refusalIn = (error: unknown) => {
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
const withoutSecrets = (error: unknown, { host, port }: SmtpServer) => {
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

export type SmtpDeadlines = { connect: number; greeting: number; silence: number; whole: number }

const usualDeadlines: SmtpDeadlines = {
  connect: 10 * seconds,
  greeting: 10 * seconds,
  silence: 20 * seconds,
  whole: 40 * seconds,
}

/** The log of the library would contain credentials and whole mails. One fact is taken from it, and nothing is written. */
const authenticationListener = (onAuthenticated: () => void) => {
  const drop = () => undefined
  const info = ({ action }: { action?: unknown } = {}) => {
    if (action === 'authenticated') onAuthenticated()
  }
  return { trace: drop, debug: drop, info, warn: drop, error: drop, fatal: drop }
}

const openPool = async (
  server: SmtpServer,
  connections: number,
  deadlines: SmtpDeadlines,
  logger: ReturnType<typeof authenticationListener> | false = false,
) => {
  const { createTransport } = await import('nodemailer')
  return createTransport({
    ...server,
    pool: true,
    maxConnections: connections,
    maxRequeues: 1,
    idleTimeout: 1 * minutes,
    connectionTimeout: deadlines.connect,
    dnsTimeout: deadlines.connect,
    greetingTimeout: deadlines.greeting,
    socketTimeout: deadlines.silence,
    logger,
    disableFileAccess: true,
    disableUrlAccess: true,
  })
}

type SmtpPool = Awaited<ReturnType<typeof openPool>>

const deliver = async (pool: Promise<SmtpPool>, mail: Mail) => {
  const domain = mail.from.replace(/^.*@/s, '').replace(/>.*$/s, '')
  return (await pool).sendMail({
    // The recipient is given as an object, so that a comma in the address never adds a recipient.
    from: mail.from,
    to: { name: '', address: mail.to },
    subject: mail.subject,
    text: mail.text,
    html: mail.html,
    messageId: `<${mail.id}@${domain}>`,
    headers: { 'Auto-Submitted': 'auto-generated', 'X-Auto-Response-Suppress': 'All' },
  })
}

const verifyServer = async (server: SmtpServer, deadlines: SmtpDeadlines) => {
  let authenticated = false
  const log = authenticationListener(() => {
    authenticated = true
  })
  const pool = await openPool(server, 1, deadlines, log)
  try {
    await pool.verify()
    return { authenticated }
  } catch (error) {
    throw withoutSecrets(error, server)
  } finally {
    pool.close({ force: true })
  }
}

export const createSmtpMailer = ({
  server,
  connections = 4,
  deadlines = usualDeadlines,
}: {
  server: SmtpServer
  connections?: number
  deadlines?: SmtpDeadlines
}): Mailer => {
  // The pool is opened for the first mail, because most starts send no mail for a while.
  let pool: Promise<SmtpPool> | undefined
  const openOnce = () => {
    pool ??= openPool(server, connections, deadlines)
    return pool
  }

  /**
   * Closes a pool whose delivery took too long: a late delivery would send the mail twice. The socket timeout does not stop a
   * server that answers byte by byte.
   */
  const abandon = async (stuckPool: Promise<SmtpPool>) => {
    if (pool === stuckPool) pool = undefined
    const openedPool = await stuckPool
    openedPool.close({ force: true })
  }

  const send = async (mail: Mail): Promise<Delivery> => {
    const usedPool = openOnce()
    try {
      await withTimeout(deliver(usedPool, mail), deadlines.whole, () => {
        abandon(usedPool).catch(() => undefined)
        throw Object.assign(new Error('The delivery took too long'), { code: 'ETIMEDOUT' })
      })
      return { outcome: 'accepted' }
    } catch (error) {
      const reason = refusalIn(error)
      if (reason) return { outcome: 'refused', reason }
      throw withoutSecrets(error, server)
    }
  }

  return {
    send,
    verify: () => verifyServer(server, deadlines),
    close: async () => (await pool)?.close({ force: true }),
  }
}
