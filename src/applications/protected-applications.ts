import type { Database } from '../platform/database/database.js'
import { type Application, readOpenPath } from './application-rules.js'
import * as store from './applications.store.js'

/** What anybody may see: a path, or all that begins with it if it ends in a slash. */
export type OpenPath = ReturnType<typeof readOpenPath>

/** An application behind a proxy, as each check needs it. */
export type ProtectedApplication = Omit<Application, 'openPaths'> & { openPaths: readonly OpenPath[] }

export type ProtectedApplications = ReturnType<typeof createProtectedApplications>

/** The applications that proxies protect, in memory: every request of their visitors asks for one. */
export const createProtectedApplications = ({ database }: { database: Database }) => {
  let byOrigin: ReadonlyMap<string, ProtectedApplication> = new Map()
  let readAt: number | undefined

  return {
    /** By scheme, host and port. */
    find: (origin: string) => byOrigin.get(origin),
    all: () => [...byOrigin.values()],
    /** Reads them again if applications were changed more often than when they were read. */
    follow: async (changes: number) => {
      if (changes === readAt) return
      const applications = await store.selectProtected(database)
      const entryOf = (each: Application) =>
        [each.proxyOrigin ?? '', { ...each, openPaths: each.openPaths.map(readOpenPath) }] as const
      byOrigin = new Map(applications.map(entryOf))
      readAt = changes
    },
  }
}
