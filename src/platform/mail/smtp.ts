import { getSystemErrorName } from 'node:util'
import { minutes, seconds } from '../../lib/durations.js'
import { withTimeout } from '../../lib/with-timeout.js'
import { tlsFaultOf, tlsFaultWords } from '../tls-faults.js'
import type { Delivery, Mail, Mailer } from './mail.js'
import type { SmtpServer } from './smtp-address.js'

export type SmtpDeadlines = { connect: number; greeting: number; silence: number; whole: number }

const usualDeadlines: SmtpDeadlines = {
  connect: 10 * seconds,
  greeting: 10 * seconds,
  silence: 20 * seconds,
  whole: 40 * seconds,
}

/** The library's own log would contain credentials and whole mails: one fact is taken from it, and nothing is written. */
const noticing = (onAuthenticated: () => void) => {
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
  logger: ReturnType<typeof noticing> | false = false,
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

/** Only a recipient or a message is refused for good. A refused password or sender is for the operator to fix. */
const refusalIn = (error: unknown) => {
  if (!(error instanceof Error)) return undefined
  const { code, command, responseCode } = error as { code?: string; command?: string; responseCode?: number }
  const final = responseCode !== undefined && responseCode >= 500 && responseCode < 600
  const aboutThisMail = (code === 'EENVELOPE' && command === 'RCPT TO') || code === 'EMESSAGE'
  return final && aboutThisMail ? `the mail server answered ${responseCode}` : undefined
}

type Failure = { code?: string; originalCode?: string; command?: string; responseCode?: number; errno?: number }

/** What may be logged of a failure. The server's own message can repeat the address or a part of the mail. */
const withoutSecrets = (error: unknown, { host, port }: SmtpServer) => {
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

export const createSmtpMailer = ({
  server,
  connections = 4,
  deadlines = usualDeadlines,
}: {
  server: SmtpServer
  connections?: number
  deadlines?: SmtpDeadlines
}): Mailer => {
  // Opened for the first mail: most starts send none for a while.
  let pool: Promise<SmtpPool> | undefined
  const opened = () => {
    pool ??= openPool(server, connections, deadlines)
    return pool
  }

  /** A server that answers slowly, byte by byte, never reaches the socket timeout. A late delivery would send the mail twice. */
  const abandon = async (stuck: Promise<SmtpPool>) => {
    if (pool === stuck) pool = undefined
    const abandoned = await stuck
    abandoned.close({ force: true })
  }

  const deliver = async (used: Promise<SmtpPool>, mail: Mail) => {
    const domain = mail.from.replace(/^.*@/s, '').replace(/>.*$/s, '')
    return (await used).sendMail({
      // Addresses are given as objects and in the envelope: a comma in an address never adds a recipient.
      from: mail.from,
      to: { name: '', address: mail.to },
      subject: mail.subject,
      text: mail.text,
      html: mail.html,
      messageId: `<${mail.id}@${domain}>`,
      headers: { 'Auto-Submitted': 'auto-generated', 'X-Auto-Response-Suppress': 'All' },
    })
  }

  const send = async (mail: Mail): Promise<Delivery> => {
    const used = opened()
    try {
      await withTimeout(deliver(used, mail), deadlines.whole, () => {
        abandon(used).catch(() => undefined)
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
    verify: async () => {
      let authenticated = false
      const log = noticing(() => {
        authenticated = true
      })
      const asked = await openPool(server, 1, deadlines, log)
      try {
        await asked.verify()
        return { authenticated }
      } catch (error) {
        throw withoutSecrets(error, server)
      } finally {
        asked.close({ force: true })
      }
    },
    close: async () => (await pool)?.close({ force: true }),
  }
}
