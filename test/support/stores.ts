import type { CommandContext } from '../../src/commands/command.js'
import { openRoomsForCommand } from '../../src/commands/open-for-commands.js'

import type { Database } from '../../src/platform/database/database.js'
import { loadConfig } from '../../src/settings/config.js'
import { emptyPostgres, freshPostgres, testPostgres } from './databases.js'

export type TestStore = {
  database: Database
  url: string
  /** Another handle, as a second instance of the service would have. */
  another(): Promise<Database>
  drop(): Promise<void>
}

type Options = { empty?: boolean }

export const openPostgresStore = async ({ empty = false }: Options = {}): Promise<TestStore> => {
  const { url, drop } = await (empty ? emptyPostgres() : freshPostgres())
  const opened: Database[] = []
  const another = async () => {
    const database = testPostgres(url)
    opened.push(database)
    return database
  }
  const release = async () => {
    await Promise.all(opened.splice(0).map((database) => database.close()))
  }
  return { database: await another(), url, another, drop: () => release().then(drop) }
}

export type CommandStore = { database: Database; openRooms: CommandContext['openRooms']; drop(): Promise<void> }

/** PostgreSQL for the commands, opened once and kept open between them. */
export const openCommandStore = async (settings: Record<string, string> = {}): Promise<CommandStore> => {
  const { url, drop } = await freshPostgres()
  const rooms = await openRoomsForCommand(
    loadConfig({ NODE_ENV: 'test', BCRYPT_COST: '10', DATABASE_URL: url, ...settings }),
    'table owner',
  )
  return {
    database: rooms.database,
    openRooms: async () => ({ ...rooms, close: async () => {} }),
    drop: () => rooms.close().then(drop),
  }
}

/** For commands that never get as far as a database. */
export const noStore: Pick<CommandStore, 'openRooms'> = {
  openRooms: () => Promise.reject(new Error('No database was expected to be opened')),
}
