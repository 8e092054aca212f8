import type { Database } from '../platform/database/database.js'
import { type Application, getsOurCookies, type Place, readOpenPath } from './application-rules.js'
import * as store from './applications.store.js'

/** What anybody may see: a path, or all that begins with it if it ends in a slash. */
export type OpenPath = ReturnType<typeof readOpenPath>

/** An application behind a proxy, as each check needs it. */
export type ProtectedApplication = Omit<Application, 'openPaths' | 'proxyOrigin'> & {
  proxyOrigin: string
  openPaths: readonly OpenPath[]
  /** Its host does not get the cookies of our sessions. */
  hasOwnCookie: boolean
}

const protectedFrom = (application: Application, place: Omit<Place, 'production'>): ProtectedApplication[] => {
  const { proxyOrigin, openPaths } = application
  if (proxyOrigin === undefined) return []
  const hasOwnCookie = !getsOurCookies(proxyOrigin, place)
  return [{ ...application, proxyOrigin, openPaths: openPaths.map(readOpenPath), hasOwnCookie }]
}

export type ProtectedApplications = ReturnType<typeof createProtectedApplications>

/** The applications that proxies protect, in memory: every request of their visitors asks for one. */
export const createProtectedApplications = ({
  database,
  ...place
}: { database: Database } & Omit<Place, 'production'>) => {
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
      const all = applications.flatMap((each) => protectedFrom(each, place))
      byOrigin = new Map(all.map((each) => [each.proxyOrigin, each]))
      readAt = changes
    },
  }
}
