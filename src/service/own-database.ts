import { freeSpaceAt } from '../platform/database/space-watch.js'
import type { Log } from '../platform/log.js'

import { type OwnConfig, type OwnPostgres, openForService } from '../platform/own-postgres/own-postgres.js'
import type { Config, Environment } from '../settings/config.js'

/** The settings that name the stores of a service: what it was given, or what its own PostgreSQL gives. */
export type StoreConfig = Config & { databaseUrl: string }

/** Besides the pools of the service: commands, and the superuser. */
const connectionsOfOthers = 40
/** Counters have a pool of their own, in each process. */
const connectionsOfCounters = 4

type OwnSettings = Omit<OwnConfig, 'maxConnections'> & Pick<Config, 'databasePool' | 'workers'>

export const ownConfigOf = ({ databasePool, workers, ...config }: OwnSettings): OwnConfig => ({
  ...config,
  maxConnections: workers * (databasePool + connectionsOfCounters) + connectionsOfOthers,
})

export const withStoresOf = (config: Config, { settings }: Pick<OwnPostgres, 'settings'>): StoreConfig =>
  Object.freeze({ ...config, ...settings })

/** The free bytes on the disk of our own database; undefined if the database is elsewhere. */
export const freeSpaceOf = async ({ ownDatabase, dataDir }: Config) =>
  ownDatabase ? await freeSpaceAt(dataDir) : undefined

export type Stores = { config: StoreConfig; close(): Promise<void> }

/** The addresses and secrets of the stores. If no database is named, a PostgreSQL of our own is started, which `close` stops. */
export const openStores = async (config: Config, log: Log, settingsForCommands?: Environment): Promise<Stores> => {
  const { databaseUrl } = config
  if (databaseUrl !== undefined) return { config: { ...config, databaseUrl }, close: async () => undefined }
  const own = await openForService({ config: ownConfigOf(config), log, settingsForCommands })
  return { config: withStoresOf(config, own), close: own.close }
}
