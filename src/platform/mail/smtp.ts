import { minutes, seconds } from '../../lib/durations.js'
import { withTimeout } from '../../lib/timing.js'
import type { Delivery, Mail, Mailer } from './mail.js'
import type { SmtpServer } from './smtp-address.js'
import { refusalIn, withoutSecrets } from './smtp-failures.js'

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
