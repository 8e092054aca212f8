import type { Clock } from '../lib/clock.js'
import { minutes, seconds } from '../lib/durations.js'
import { openLeakedPasswords } from '../passwords/leaked-list.js'
import { createWorkers, type Workers } from '../passwords/workers.js'
import { openCache, usualCommandTimeout } from '../platform/cache/open.js'
import { createPostgres } from '../platform/database/open.js'
import type { Log } from '../platform/log.js'
import { createDevelopmentMailbox, noMailer } from '../platform/mail/mail.js'
import { createSmtpMailer } from '../platform/mail/smtp.js'
import { createOutbound, type OutboundOptions } from '../platform/outbound/outbound.js'
import { isPrivateAddress, isPublicAddress, isPublicOrPrivateAddress } from '../platform/outbound/public-addresses.js'
import { makeSecret } from '../platform/own-postgres/kept-secrets.js'
import { openProviderSettings } from '../providers/open-providers.js'
import type { Config, Environment } from '../settings/config.js'
import { readDesign, readOwnWords, readProfileFields } from './operator-files.js'
import { openStores, type StoreConfig } from './own-database.js'

/** The bodies have names and addresses of users, so in production plain HTTP stays in a private network, whatever the name leads to. */
const networkOf = ({ webhookUrl = '', webhookAllowPrivate, production }: Config): OutboundOptions => {
  if (webhookAllowPrivate !== 'true') return { mayReach: isPublicAddress, allowPlainHttp: !production }
  const isPrivateOnly = production && webhookUrl.startsWith('http:')
  return isPrivateOnly
    ? { mayReach: isPrivateAddress, unreachableAs: 'forbidden', allowPlainHttp: true }
    : { mayReach: isPublicOrPrivateAddress, allowPlainHttp: true }
}

/** Opens the client that sends webhooks. Of an answer only the status matters. Undefined if webhooks are off. */
export const openWebhookReceiver = (config: Config, options: OutboundOptions = {}) => {
  const { webhookUrl: url, webhookSecret: secrets } = config
  if (url === undefined || secrets === undefined) return undefined
  const outbound = createOutbound({
    connectTimeout: 10 * seconds,
    totalTimeout: 15 * seconds,
    maximumBytes: 4096,
    cutBody: true,
    ...networkOf(config),
    ...options,
  })
  return { url, secrets, outbound }
}

export type Platform = Awaited<ReturnType<typeof openPlatform>>

type PlatformContext = {
  config: Config
  clock: Clock
  log: Log
  /** Threads that check passwords. Several services in one process can share them, so closing a service does not close them. */
  sharedWorkers: Workers | undefined
  storeTimeouts: StoreTimeouts | undefined
  settingsForCommands: Environment | undefined
}

/** How long a request waits for a connection, for a statement, and for the shared counters. */
export type StoreTimeouts = { connection: number; statement: number; counters: number }

const usualTimeouts: StoreTimeouts = { connection: 3 * seconds, statement: 5 * seconds, counters: usualCommandTimeout }

/** No request waits for a command, and some commands read whole tables: `stats`, or a search for any part of a name. */
export const timeoutsOfCommands: StoreTimeouts = { ...usualTimeouts, statement: 10 * minutes }

export const openConfiguredDatabase = (
  { databaseUrl: url, databasePool }: StoreConfig,
  log: Log,
  timeouts = usualTimeouts,
) =>
  createPostgres({
    url,
    applicationName: 'latchkey',
    poolSize: databasePool,
    connectTimeoutMs: timeouts.connection,
    statementTimeoutMs: timeouts.statement,
    lockTimeoutMs: Math.min(timeouts.statement, usualTimeouts.statement),
    log,
  })

const openMail = (config: Config, clock: Clock, log: Log) => {
  if (config.smtpUrl) return { mailer: createSmtpMailer({ server: config.smtpUrl }), mailbox: undefined }
  if (config.mailIsOff) {
    log.warn('mail is off: SMTP_URL is not set, so nothing is mailed, and nothing that needs a mail is offered')
    return { mailer: noMailer, mailbox: undefined }
  }
  const mailboxUrl = `${config.publicUrl}/dev/mailbox`
  const mailbox = createDevelopmentMailbox({ environment: config.nodeEnv, mailboxUrl, clock, log })
  return { mailer: mailbox, mailbox }
}

type Closable = { close(): Promise<void> | void }

const openParts = async (
  { config: given, clock, log, sharedWorkers, storeTimeouts = usualTimeouts, settingsForCommands }: PlatformContext,
  closeLater: <Part extends Closable>(part: Part) => Part,
) => {
  // Files are read first, so that a fault in one of them ends the start before it has made anything.
  const design = await readDesign(given)
  const ownWords = await readOwnWords(given)
  const fieldDefinitions = await readProfileFields(given.profileFieldsFile)
  const { config } = closeLater(await openStores(given, log, settingsForCommands))
  const secrets = config.jwtSecret ?? (await makeSecret(config.dataDir, 'jwt_secret')).split(',')
  const leakedPasswords = await openLeakedPasswords(config, log)
  if (leakedPasswords) closeLater(leakedPasswords)
  const database = closeLater(openConfiguredDatabase(config, log, storeTimeouts))
  const { redisUrl: url, redisPrefix: prefix, databaseUrl } = config
  const postgres = { url: databaseUrl, database }
  const counters = await openCache({ url, postgres, prefix, clock, log, commandTimeout: storeTimeouts.counters })
  const cache = closeLater(counters.cache)
  const { mailer, mailbox } = openMail(config, clock, log)
  closeLater(mailer)
  const { workerThreads: threads, workerQueue: queueLimit, workers: processes } = config
  const workers = sharedWorkers ?? closeLater(createWorkers({ threads, processes, queueLimit, deadline: 10 * seconds }))
  const providers = closeLater(await openProviderSettings(config, design, log))
  return {
    config,
    secrets,
    sealingSecrets: config.sealingKey ?? secrets,
    database,
    cache,
    startCache: counters.start,
    workers,
    mailer,
    mailbox,
    outbound: createOutbound({ allowLoopbackHttp: !config.production }),
    leakedPasswords,
    webhookReceiver: openWebhookReceiver(config),
    fieldDefinitions,
    design,
    ownWords,
    providerSettings: providers.settings,
    redirectUris: providers.redirectUris,
  }
}

/**
 * Opens the list of leaked passwords, the database, the counters, the mailer, the worker threads and the providers. `close` closes
 * them in the reverse order. If one of them cannot be opened, those before it are closed, too.
 */
export const openPlatform = async (context: PlatformContext) => {
  const opened: Closable[] = []
  const close = async () => {
    for (const part of opened.toReversed()) await part.close()
  }
  try {
    const parts = await openParts(context, (part) => {
      opened.push(part)
      return part
    })
    return { ...parts, close }
  } catch (error) {
    await close()
    throw error
  }
}
