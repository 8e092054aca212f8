import type { Config } from '../config.js'
import { createOpenIdConnect } from '../domain/providers/openid-connect.js'
import { systemClock } from '../lib/clock.js'
import { seconds } from '../lib/durations.js'
import { isLoopback } from '../lib/loopback.js'
import { createSmtpMailer } from '../platform/mail/smtp.js'
import type { SmtpServer } from '../platform/mail/smtp-url.js'
import { createOutbound, type Outbound } from '../platform/outbound/outbound.js'
import { type CheckGroup, type Finding, failure, ok, warning, worstOf } from './doctor-check.js'

const smtpDeadlines = { connect: 4 * seconds, greeting: 4 * seconds, silence: 5 * seconds, whole: 7 * seconds }

const judgeMailSettings = (server: SmtpServer, from: string): Finding =>
  worstOf(`${server.host}:${server.port} answers${server.auth ? ' and takes our credentials' : ''}`, [
    /@localhost>?$/.test(from) ? warning('MAIL_FROM is still the default: other mail servers will refuse it') : ok(''),
    server.secure || server.requireTLS || isLoopback(server.host)
      ? ok('')
      : warning('mail may travel in the clear: use smtps://, or ?requireTLS=true'),
    server.tls.rejectUnauthorized ? ok('') : warning("the mail server's certificate is not checked"),
  ])

const noConnection = 'cannot be reached: check the host and the port in SMTP_URL, and the firewall'
const mailFaults: Readonly<Record<string, string>> = {
  ESOCKET: noConnection,
  ECONNECTION: noConnection,
  ETIMEDOUT:
    'does not answer in time: check the host and the port in SMTP_URL, and the firewall; smtps:// is for port 465',
  EDNS: 'has a name that cannot be found: check the host in SMTP_URL',
  EAUTH: 'refuses the user or the password in SMTP_URL',
  ETLS: 'cannot be spoken to in an encrypted way: check its certificate, and smtp:// or smtps:// in SMTP_URL',
}

/** What to do about it first; the code and the step for whoever looks closer. */
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

const withoutClient = ({ nodeEnv }: Config, letter: 'A' | 'B') =>
  ok(
    nodeEnv === 'development'
      ? `no PROVIDER_${letter}_CLIENT_ID: the development provider stands in`
      : `switched off: PROVIDER_${letter}_CLIENT_ID is not set`,
  )

/** The cookies of an attempt come back only to our own site. */
const judgeCallback = (publicUrl: string, redirectUri: string, letter: 'A' | 'B') =>
  new URL(redirectUri).origin === new URL(publicUrl).origin
    ? ok('')
    : warning(`PROVIDER_${letter}_REDIRECT_URI is not below PUBLIC_URL: sign-in will not find its cookie`)

/** Begins a sign-in as a browser would, and throws it away: that takes discovery, and all that discovery can get wrong. */
const checkProviderA = async (config: Config, outbound: Outbound): Promise<Finding> => {
  const {
    providerAClientId: clientId,
    providerAClientSecret: clientSecret,
    providerAIssuer: issuer,
    publicUrl,
    production,
  } = config
  if (clientId === undefined || clientSecret === undefined) return withoutClient(config, 'A')
  const redirectUri = config.providerARedirectUri ?? `${publicUrl}/api/auth/provider-a/callback`
  const settings = { name: config.providerAName, issuer, clientId, clientSecret, redirectUri, production }
  const provider = createOpenIdConnect('provider_a', settings, { outbound, clock: systemClock })
  const begun = await provider.begin({ state: 'doctor', verifier: 'doctor'.repeat(8), nonce: 'doctor' })
  if ('refused' in begun) return failure(`${issuer} cannot be discovered: ${begun.cause}`)
  return worstOf(`${issuer} publishes what is needed`, [judgeCallback(publicUrl, redirectUri, 'A')])
}

/** Any answer below 500 will do: GitHub Enterprise may refuse strangers, and a client id is proven only by a sign-in. */
const checkProviderB = async (config: Config, outbound: Outbound): Promise<Finding> => {
  const { providerBClientId, providerBUrl, providerBApiUrl, publicUrl } = config
  if (providerBClientId === undefined) return withoutClient(config, 'B')
  const fetch = outbound.withDeadline()
  const ask = async (url: string): Promise<Finding> => {
    const { status } = await fetch(url, { headers: { 'user-agent': 'latchkey' } })
    return status < 500 ? ok('') : failure(`${url} answers ${status}`)
  }
  const redirectUri = config.providerBRedirectUri ?? `${publicUrl}/api/auth/provider-b/callback`
  return worstOf(`${providerBUrl} and ${providerBApiUrl} answer`, [
    ...(await Promise.all([ask(providerBUrl), ask(providerBApiUrl)])),
    judgeCallback(publicUrl, redirectUri, 'B'),
  ])
}

/** The mail server and the two providers. */
export const outsideChecks = (config: Config): CheckGroup => {
  const outbound = createOutbound({ allowLoopbackHttp: !config.production, totalTimeout: 6 * seconds })
  return {
    checks: [
      { name: 'mail', run: () => checkMail(config) },
      { name: 'provider A', run: () => checkProviderA(config, outbound) },
      { name: 'provider B', run: () => checkProviderB(config, outbound) },
    ],
  }
}
