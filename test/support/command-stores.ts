import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { CommandContext } from '../../src/commands/command.js'
import { openStores } from '../../src/commands/open-stores.js'
import { loadConfig } from '../../src/config.js'
import type { Database } from '../../src/platform/database/database.js'
import { freshPostgres } from './databases.js'

export type CommandStore = { database: Database; openStores: CommandContext['openStores']; drop(): Promise<void> }

/** Opened once and kept open between commands: the embedded database takes a second to open. */
const opened = async (settings: Record<string, string>, drop: () => Promise<void>): Promise<CommandStore> => {
  const stores = await openStores(loadConfig({ NODE_ENV: 'test', BCRYPT_COST: '10', ...settings }), 'owner')
  return {
    database: stores.database,
    openStores: async () => ({ ...stores, close: async () => {} }),
    drop: () => stores.close().then(drop),
  }
}

const postgres = async () => {
  const { url, drop } = await freshPostgres()
  return opened({ DATABASE_URL: url }, drop)
}

const embedded = async () => {
  const folder = await mkdtemp(join(tmpdir(), 'latchkey-commands-'))
  return opened({ DATA_DIR: folder }, () => rm(folder, { recursive: true, force: true }))
}

/** The same expectations hold on both. */
export const commandStores = [
  { name: 'PostgreSQL', open: postgres },
  { name: 'the embedded database', open: embedded },
]

/** For commands that never get as far as a database. */
export const noStore: Pick<CommandStore, 'openStores'> = {
  openStores: () => Promise.reject(new Error('No database was expected to be opened')),
}
