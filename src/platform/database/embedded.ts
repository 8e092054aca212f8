import { dirname, resolve } from 'node:path'
import { setTimeout as wait } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { builtFile } from '../../lib/home.js'
import type { Database } from './database.js'
import { DataDirectoryInUse, NoDatabase } from './directory-faults.js'
import { hasDatabase } from './directory-lock.js'
import { createPostgres, type PostgresOptions } from './open.js'
import { createPglite, type PgliteOptions } from './pglite.js'
import { createPgliteClient, longestWaitMs, pauseMs, settingsOfService } from './pglite-client.js'

export type DatabaseOptions = { embedded: PgliteOptions } | { postgres: PostgresOptions }

/**
 * Opens the configured database. The embedded database is ready afterwards, or this rejects. PostgreSQL is connected when it is first
 * used. While it cannot be reached, statements and `migrate` reject with StoreUnavailable and may be repeated.
 */
export const openDatabase = async (options: DatabaseOptions): Promise<Database> => {
  if ('postgres' in options) return createPostgres(options.postgres)
  const templateFile = options.embedded.templateFile ?? fileURLToPath(builtFile('embedded-template.tar.gz'))
  return await createPglite({ ...options.embedded, templateFile })
}

/** Tries for some seconds to open a directory that another process uses, as long as `isWorthWaiting`. */
const openInTurn = async (open: () => Promise<Database>, isWorthWaiting: (inUse: DataDirectoryInUse) => boolean) => {
  const giveUpAt = performance.now() + longestWaitMs
  for (;;) {
    try {
      return await open()
    } catch (error) {
      if (!(error instanceof DataDirectoryInUse) || !isWorthWaiting(error) || performance.now() > giveUpAt) throw error
      await wait(pauseMs)
    }
  }
}

type CommandOptions = PgliteOptions & {
  /** Whether a missing database may be created. Otherwise a command in a wrong folder would work on a new, empty database. */
  mayCreate?: boolean
}

/**
 * Opens the embedded database for a command: through the running service, or directly if no service runs. If several commands start
 * together, each waits for its turn.
 */
export const openEmbeddedForCommand = (options: CommandOptions): Promise<Database> =>
  openInTurn(
    async () => {
      const { directory, mayCreate } = options
      if (await settingsOfService(directory)) return createPgliteClient(directory)
      if (!mayCreate && !(await hasDatabase(directory))) throw new NoDatabase(resolve(dirname(directory)))
      return await openDatabase({ embedded: { ...options, kind: 'command' } })
    },
    () => true,
  )

/** Opens the embedded database for a service. If a command has it open, the service waits some seconds for its end. */
export const openEmbeddedForService = async (options: PgliteOptions): Promise<Database> => {
  const { directory, log } = options
  const isNew = !(await hasDatabase(directory))
  let isLogged = false
  const database = await openInTurn(
    () => openDatabase({ embedded: { ...options, kind: 'service' } }),
    ({ holder }) => {
      if (holder?.kind !== 'command') return false
      if (!isLogged) log?.info({ pid: holder.pid }, 'a command uses the data directory: waiting until it has ended')
      isLogged = true
      return true
    },
  )
  if (isNew) log?.info({}, `made a new database in ${resolve(dirname(directory))}`)
  return database
}
