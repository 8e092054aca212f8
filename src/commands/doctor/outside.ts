import type { Config } from '../../config.js'
import { byProvider, providerLabel } from '../../contract/providers.js'
import { seconds } from '../../lib/durations.js'
import { createSmtpMailer } from '../../platform/mail/smtp.js'
import type { SmtpServer } from '../../platform/mail/smtp-address.js'
import { createOutbound } from '../../platform/outbound/outbound.js'
import { type TlsFault, tlsFaultWords } from '../../platform/tls-faults.js'
import { type CheckGroup, type Finding, failure, ok, skipped, warning, worstOf } from './check.js'
import { checkMailEncryption } from './encryption.js'
import { checkProvider } from './providers.js'

const smtpDeadlines = { connect: 4 * seconds, greeting: 4 * seconds, silence: 5 * seconds, whole: 7 * seconds }

const judgeMailSettings = (server: SmtpServer, from: string, authenticated: boolean): Finding =>
  worstOf(`${server.host}:${server.port} answers${authenticated ? ' and accepts our credentials' : ''}`, [
    server.auth && !authenticated
      ? warning('the server did not ask for the user and the password in SMTP_URL: they are not used')
      : ok(''),
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

const tlsAdvice: Readonly<Record<TlsFault, string>> = {
  'unknown authority': 'set NODE_EXTRA_CA_CERTS to the file of your own authority',
  'other name': 'write the name that is in the certificate as the host in SMTP_URL',
  expired: 'renew it',
  'not valid yet': 'check the clocks of both machines',
  'no TLS': 'write smtp:// in SMTP_URL; smtps:// is for port 465',
}

type MailFailure = { code?: string; message?: string; tlsFault?: TlsFault; tlsCode?: string }

/** Says what to do, and then, in brackets, the code and the step of the failure. */
const explainMail = ({ host, port }: Pick<SmtpServer, 'host' | 'port'>, error: unknown) => {
  const { code = '', message = 'unknown', tlsFault, tlsCode } = (error ?? {}) as MailFailure
  if (tlsFault) return `${host}:${port} cannot be used: ${tlsFaultWords[tlsFault]}; ${tlsAdvice[tlsFault]} (${tlsCode})`
  return `${host}:${port} ${mailFaults[code] ?? 'cannot be used'} (${message.replace(/^.* did not take the mail: /, '')})`
}

const checkMail = async ({ smtpUrl, mailFrom, mailIsOff }: Config): Promise<Finding> => {
  if (mailIsOff)
    return warning(
      'mail is off: SMTP_URL is not set, so nobody can reset a password, confirm an address or be told of a change by mail. Hand over what latchkey user reset-link and latchkey invite --print print; docs/sign-in.md says what else is different',
    )
  if (!smtpUrl) return ok('no SMTP_URL: mails are kept for the development mailbox')
  const mailer = createSmtpMailer({ server: smtpUrl, connections: 1, deadlines: smtpDeadlines })
  try {
    const verified = await mailer.verify?.()
    return judgeMailSettings(smtpUrl, mailFrom, verified?.authenticated ?? false)
  } catch (error) {
    return failure(explainMail(smtpUrl, error))
  } finally {
    await mailer.close()
  }
}

/** Checks of the mail server and the providers. */
export const outsideChecks = (config: Config): CheckGroup => {
  const outbound = createOutbound({ allowLoopbackHttp: !config.production, totalTimeout: 6 * seconds })
  const { smtpUrl } = config
  let mailFinding: Promise<Finding> | undefined
  const checkMailOnce = () => {
    mailFinding ??= checkMail(config)
    return mailFinding
  }
  const mailEncryption = async (server: SmtpServer) =>
    (await checkMailOnce()).level === 'error' ? skipped('the mail server cannot be used') : checkMailEncryption(server)
  return {
    checks: [
      { name: 'mail', run: checkMailOnce },
      ...(smtpUrl ? [{ name: 'mail encryption', run: () => mailEncryption(smtpUrl) }] : []),
      ...byProvider(config.providers).map(([id, provider]) => ({
        name: providerLabel(id),
        run: () => checkProvider({ id, provider, config, outbound }),
      })),
    ],
  }
}
