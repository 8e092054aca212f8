import type { Redis } from 'ioredis'
import { isRefused } from '../../contract/outcome.js'
import { byProvider, type ProviderId, providerLabel, providerSetting } from '../../contract/providers.js'
import { reasonOf } from '../../lib/caught.js'
import { systemClock as clock, systemClock } from '../../lib/clock.js'
import { seconds } from '../../lib/durations.js'
import { countText } from '../../lib/text.js'
import { createWebhooks } from '../../messages/webhooks.js'
import { connectRedis, mastersOf, type RedisClient, readyRedis } from '../../platform/cache/redis.js'
import { readRedisAddress } from '../../platform/cache/redis-address.js'
import type { Database } from '../../platform/database/database.js'
import { type TlsFault, tlsFaultWords, validAddress } from '../../platform/invalid-address.js'
import { commandLog } from '../../platform/log.js'
import { createSmtpMailer } from '../../platform/mail/smtp.js'
import type { SmtpServer } from '../../platform/mail/smtp-address.js'
import { createOutbound, type Outbound, OutboundFailed } from '../../platform/outbound/outbound.js'
import { createOpenIdConnect } from '../../providers/openid-connect.js'
import { openWebhookReceiver } from '../../service/open-platform.js'
import type { Config } from '../../settings/config.js'
import { type ProviderConfig, redirectUrisOf } from '../../settings/provider-settings.js'
import { sendingStoppedText } from '../operations/webhooks.js'
import {
  type CheckGroup,
  checkMailEncryption,
  checkRedisEncryption,
  type Finding,
  failure,
  judgeClock,
  ok,
  skipped,
  warning,
  worstOf,
} from './check.js'

const findingWithoutClient = ({ nodeEnv }: Config, id: ProviderId) => {
  const setting = providerSetting(id, 'CLIENT_ID')
  return ok(
    nodeEnv === 'development'
      ? `no ${setting}: the development provider stands in`
      : `switched off: ${setting} is not set`,
  )
}

/** A callback on another site gets no cookies of the attempt, so the sign-in cannot be finished there. */
const judgeCallback = (config: Config, id: ProviderId) =>
  new URL(redirectUrisOf(config)[id] ?? config.publicUrl).origin === new URL(config.publicUrl).origin
    ? ok('')
    : warning(`${providerSetting(id, 'REDIRECT_URI')} is not below PUBLIC_URL: sign-in will not find its cookie`)

/** Begins a sign-in, because that needs everything which discovery returns. The sign-in is not continued. */
const checkDiscovery = async (
  id: ProviderId,
  settings: Parameters<typeof createOpenIdConnect>[1],
  outbound: Outbound,
): Promise<Finding> => {
  const provider = createOpenIdConnect(id, settings, { outbound, clock: systemClock })
  const location = await provider.begin({ state: 'doctor', verifier: 'doctor'.repeat(8), nonce: 'doctor' })
  return isRefused(location)
    ? failure(`${settings.issuer} cannot be discovered: ${location.cause}`)
    : ok(`${settings.issuer} publishes what is needed`)
}

/** Accepts every answer below 500: GitHub Enterprise may refuse a request without a sign-in, and only a sign-in proves the client id. */
const checkAnswers = async (urls: readonly string[], outbound: Outbound): Promise<Finding> => {
  const fetch = outbound.withDeadline()
  const ask = async (url: string): Promise<Finding> => {
    const { status } = await fetch(url, { headers: { 'user-agent': 'latchkey' } })
    return status < 500 ? ok('') : failure(`${url} answers ${status}`)
  }
  return worstOf(`${urls.join(' and ')} answer`, await Promise.all(urls.map(ask)))
}

type CheckedProvider = { id: ProviderId; provider: ProviderConfig; config: Config; outbound: Outbound }

const checkProvider = async ({ id, provider, config, outbound }: CheckedProvider): Promise<Finding> => {
  const { clientId, clientSecret } = provider
  if (clientId === undefined || clientSecret === undefined) return findingWithoutClient(config, id)
  const client = {
    clientId,
    clientSecret,
    redirectUri: redirectUrisOf(config)[id] ?? '',
    production: config.production,
  }
  const reachability =
    provider.kind === 'openid_connect'
      ? await checkDiscovery(id, { ...provider, ...client }, outbound)
      : await checkAnswers([provider.url, provider.apiUrl], outbound)
  return worstOf(reachability.says, [reachability, judgeCallback(config, id)])
}

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
const explainMail = ({ host, port }: SmtpServer, error: unknown) => {
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

const fieldOf = (info: string, name: string) => new RegExp(`^${name}:(.*?)\r?$`, 'm').exec(info)?.[1] ?? ''

const checkRole = async (masters: Redis[]): Promise<Finding> => {
  const infos = await Promise.all(masters.map((server) => server.info()))
  const version = infos.map((info) => fieldOf(info, 'redis_version')).find(Boolean) ?? 'of unknown version'
  const isReplica = infos.some((info) => fieldOf(info, 'role') === 'slave')
  if (isReplica) return failure('this server is a replica and accepts no writes: name the master, or the sentinels')
  const servers = masters.length === 1 ? '' : `, ${masters.length} masters`
  return ok(`Redis ${version}${servers}`)
}

/** Writes a key that expires after a second, because a server that is full or cannot save refuses nothing but writes. */
const checkWrite = async (client: RedisClient): Promise<Finding> => {
  try {
    await client.set('latchkey:doctor', '1', 'PX', 1 * seconds)
    return ok('')
  } catch (error) {
    const message = reasonOf(error)
    return failure(
      message.startsWith('OOM')
        ? 'the server is full (maxmemory) and cannot count: add memory, or give Latchkey its own Redis'
        : `the server accepts no writes: ${message}`,
    )
  }
}

const checkServer = async (client: RedisClient): Promise<Finding> => {
  const role = await checkRole(mastersOf(client))
  return role.level === 'ok' ? worstOf(role.says, [await checkWrite(client)]) : role
}

/** With any policy but `noeviction`, a full server drops counters, and an attacker who fills it gets new attempts. */
const checkPolicy = async (masters: Redis[]): Promise<Finding> => {
  const infos = await Promise.all(masters.map((server) => server.info('memory')))
  const findings = infos.map((info) => {
    const policy = fieldOf(info, 'maxmemory_policy')
    const isBounded = Number(fieldOf(info, 'maxmemory')) > 0
    return isBounded && policy !== 'noeviction'
      ? warning(`maxmemory-policy is ${policy}: counters are dropped when memory is short; set noeviction`)
      : ok('')
  })
  return worstOf('counters stay until they expire', [...new Map(findings.map((each) => [each.says, each])).values()])
}

const checkClock = async (masters: Redis[]): Promise<Finding> => {
  const findings = await Promise.all(
    masters.map(async (server) => {
      const askedAt = Date.now()
      const [whole, micro] = await server.time()
      return judgeClock('Redis', askedAt, Date.now(), Number(whole) * seconds + Number(micro) / 1000)
    }),
  )
  return worstOf(findings[0]?.says ?? '', findings)
}

export const redisChecks = ({ redisUrl }: Config): CheckGroup => {
  if (redisUrl === undefined)
    return { checks: [{ name: 'redis', run: () => ok('not set: counters in PostgreSQL, for all instances') }] }
  const address = validAddress('REDIS_URL', readRedisAddress(redisUrl))
  const client = connectRedis(address, 2 * seconds)
  const connection = readyRedis(client, address)
  connection.catch(() => undefined)
  const onceReached = (check: (masters: Redis[]) => Promise<Finding>) => () =>
    connection.then(
      (redis) => check(mastersOf(redis)),
      () => skipped('Redis cannot be used'),
    )
  return {
    checks: [
      { name: 'redis', run: async () => checkServer(await connection) },
      { name: 'redis encryption', run: onceReached(async () => checkRedisEncryption(address)) },
      { name: 'redis policy', run: onceReached(checkPolicy) },
      { name: 'redis clock', run: onceReached(checkClock) },
    ],
    close: async () => client.disconnect(),
  }
}

type Receiver = NonNullable<ReturnType<typeof openWebhookReceiver>>

/** Accepts every answer, because a receiver may refuse a request that is no webhook. */
const checkReceiver = async ({ url, outbound }: Receiver): Promise<Finding> => {
  const { host } = new URL(url)
  try {
    await outbound.withDeadline()(url, { method: 'HEAD', headers: { 'user-agent': 'latchkey' } })
    return ok('')
  } catch (error) {
    if (!(error instanceof OutboundFailed)) throw error
    if (error.code === 'private_address')
      return failure(`${host} has no public address: set WEBHOOK_ALLOW_PRIVATE=true if that is meant`)
    return error.code === 'forbidden'
      ? failure(`${host} has no private address, and plain http is for a private network only: use https`)
      : failure(`${host} cannot be reached: ${error.code}`)
  }
}

/** Checks the webhooks that wait or were given up. */
const checkBacklog = async (database: Database | undefined): Promise<Finding[]> => {
  if (!database) return []
  const webhooks = createWebhooks({ database, clock, log: commandLog() })
  const { givenUp, waiting } = await webhooks.count()
  const stoppedSince = await webhooks.stoppedSince()
  return [
    stoppedSince ? warning(sendingStoppedText(stoppedSince)) : ok(''),
    givenUp > 0
      ? warning(`${countText(givenUp, 'webhook was', 'webhooks were')} given up: \`latchkey webhooks list\` says why`)
      : ok(''),
    waiting > 100 ? warning(`${waiting} webhooks wait for the receiver: \`latchkey webhooks list\` says why`) : ok(''),
  ]
}

export const checkWebhooks = async (config: Config, database?: Database): Promise<Finding> => {
  const receiver = openWebhookReceiver(config, { totalTimeout: 6 * seconds })
  if (!receiver) return ok('off: WEBHOOK_URL is not set')
  const findings = [await checkReceiver(receiver), ...(await checkBacklog(database))]
  return worstOf(`${new URL(receiver.url).host} answers`, findings)
}
