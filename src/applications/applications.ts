import type { Database } from '../platform/database/database.js'
import type { Application } from './application.js'
import { applicationFrom } from './application-rows.js'
import * as store from './applications.store.js'

export type Applications = ReturnType<typeof createApplications>

/** Finds applications for everything that signs users in. Operators change them with `application-changes`. */
export const createApplications = ({ database }: { database: Database }) => ({
  /** Whether there is any application. While there is none, the OpenID Connect provider is not loaded. */
  exist: async () => (await store.selectExists(database))[0]?.exist ?? false,

  find: async (id: string): Promise<Application | undefined> => {
    const [row] = await store.selectById(database, id)
    return row && applicationFrom(row)
  },

  findByName: async (name: string): Promise<Application | undefined> => {
    const [row] = await store.selectByName(database, name)
    return row && applicationFrom(row)
  },

  list: async (): Promise<Application[]> => (await store.selectAll(database)).map(applicationFrom),
})
