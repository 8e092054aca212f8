import type { Config } from '../config.js'
import { byProvider, providerLabel } from '../contract/providers.js'
import { seconds } from '../lib/durations.js'
import { createSmtpMailer } from '../platform/mail/smtp.js'
import type { SmtpServer } from '../platform/mail/smtp-address.js'
import { createOutbound } from '../platform/outbound/outbound.js'
import { type CheckGroup, type Finding, failure, ok, warning, worstOf } from './doctor-check.js'
import { checkMailEncryption } from './doctor-encryption.js'
import { checkProvider } from './doctor-providers.js'

const smtpDeadlines = { connect: 4 * seconds, greeting: 4 * seconds, silence: 5 * seconds, whole: 7 * seconds }

const judgeMailSettings = (server: SmtpServer, from: string): Finding =>
  worstOf(`${server.host}:${server.port} answers${server.auth ? ' and accepts our credentials' : ''}`, [
    /@localhost>?$/.test(from) ? warning('MAIL_FROM is still the default: other mail servers will refuse it') : ok(''),
  ])

const noConnection = 'cannot be reached: check the host and the port in SMTP_URL, and the firewall'
const mailFaults: Readonly<Record<string, string>> = {
  ESOCKET: noConnection,
  ECONNECTION: noConnection,
  ETIMEDOUT:
    'does not answer in time: check the host and the port in SMTP_URL, and the firewall; smtps:// is for port 465',
  EDNS: 'has a name that cannot be found: check the host in SMTP_URL',
  EAUTH: 'refuses the user or the password in SMTP_URL',
  ETLS: 'does not accept an encrypted connection: check its certificate, and smtp:// or smtps:// in SMTP_URL; ?tls=off is for a network that you trust',
}

/** First what to do; then the code and the step of the failure. */
const explainMail = ({ host, port }: Pick<SmtpServer, 'host' | 'port'>, error: unknown) => {
  const { code = '', message = 'unknown' } = (error ?? {}) as { code?: string; message?: string }
  return `${host}:${port} ${mailFaults[code] ?? 'cannot be used'} (${message.replace(/^.*: /, '')})`
}

const checkMail = async ({ smtpUrl, mailFrom }: Config): Promise<Finding> => {
  if (!smtpUrl) return ok('no SMTP_URL: mails are kept for the development mailbox')
  const mailer = createSmtpMailer({ server: smtpUrl, connections: 1, deadlines: smtpDeadlines })
  try {
    await mailer.verify?.()
    return judgeMailSettings(smtpUrl, mailFrom)
  } catch (error) {
    return failure(explainMail(smtpUrl, error))
  } finally {
    await mailer.close()
  }
}

/** The mail server and the providers. */
export const outsideChecks = (config: Config): CheckGroup => {
  const outbound = createOutbound({ allowLoopbackHttp: !config.production, totalTimeout: 6 * seconds })
  const { smtpUrl } = config
  return {
    checks: [
      { name: 'mail', run: () => checkMail(config) },
      ...(smtpUrl ? [{ name: 'mail encryption', run: () => checkMailEncryption(smtpUrl) }] : []),
      ...byProvider(config.providers).map(([id, provider]) => ({
        name: providerLabel(id),
        run: () => checkProvider({ id, provider, config, outbound }),
      })),
    ],
  }
}
