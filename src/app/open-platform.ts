import { join } from 'node:path'
import type { Config } from '../config.js'
import { createWorkers, type Workers } from '../domain/passwords/workers.js'
import type { Clock } from '../lib/clock.js'
import { seconds } from '../lib/durations.js'
import { openCache } from '../platform/cache/open.js'
import { openDatabase } from '../platform/database/open.js'
import { keptSecret } from '../platform/kept-secret.js'
import type { Log } from '../platform/log.js'
import { createDevelopmentMailbox } from '../platform/mail/development.js'
import { createSmtpMailer } from '../platform/mail/smtp.js'
import { createOutbound } from '../platform/outbound/outbound.js'
import { openLeakedPasswords } from './leaked-passwords.js'
import { openProviders } from './open-providers.js'
import { openWebhookReceiver } from './webhook-receiver.js'

export type Platform = Awaited<ReturnType<typeof openPlatform>>

/** Where the embedded database is. */
export const embeddedDirectory = ({ dataDir }: Pick<Config, 'dataDir'>) => join(dataDir, 'database')

export const openStore = (config: Config, log: Log) =>
  openDatabase(
    config.databaseUrl === undefined
      ? { embedded: { directory: embeddedDirectory(config), log } }
      : {
          postgres: {
            url: config.databaseUrl,
            applicationName: 'latchkey',
            poolSize: config.databasePool,
            connectTimeoutMs: 3 * seconds,
            statementTimeoutMs: 5 * seconds,
            idleTimeoutMs: 60 * seconds,
            log,
          },
        },
  )

const openMail = (config: Config, clock: Clock, log: Log) => {
  if (config.smtpUrl) return { mailer: createSmtpMailer({ server: config.smtpUrl }), mailbox: undefined }
  const mailboxUrl = `${config.publicUrl}/dev/mailbox`
  const mailbox = createDevelopmentMailbox({ environment: config.nodeEnv, mailboxUrl, clock, log })
  return { mailer: mailbox, mailbox }
}

/**
 * Opens the list of leaked passwords, the stores, the mailer, the worker threads and the providers, and closes them in the
 * reverse order. Threads for passwords that are given stay open: services in one process can share them.
 */
export const openPlatform = async (config: Config, clock: Clock, log: Log, given?: Workers) => {
  const secrets = config.jwtSecret ?? [await keptSecret(config.dataDir)]
  const leakedPasswords = await openLeakedPasswords(config, log)
  const sealingSecrets = config.sealingKey ?? secrets
  const database = await openStore(config, log)
  const cache = await openCache({ url: config.redisUrl, prefix: config.redisPrefix, clock, log }).catch(
    async (error: unknown) => {
      await database.close()
      throw error
    },
  )
  const { workerThreads: threads, workerQueue: queueLimit, workers: processes } = config
  const workers = given ?? createWorkers({ threads, processes, queueLimit, deadline: 10 * seconds })
  const { mailer, mailbox } = openMail(config, clock, log)
  const outbound = createOutbound({ allowLoopbackHttp: !config.production })
  const providers = await openProviders(config, log)

  return {
    secrets,
    sealingSecrets,
    database,
    cache,
    workers,
    mailer,
    mailbox,
    outbound,
    leakedPasswords,
    webhookReceiver: openWebhookReceiver(config),
    providerSettings: providers.settings,
    redirectUris: providers.redirectUris,
    close: async () => {
      await providers.close()
      if (!given) await workers.close()
      await mailer.close()
      await cache.close()
      await database.close()
      await leakedPasswords?.close()
    },
  }
}
