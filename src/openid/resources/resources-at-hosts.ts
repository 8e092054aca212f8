import { isPlainPath } from '../../applications/application-rules.js'
import type { Database } from '../../platform/database/database.js'
import { type Resource, scopeNames } from './resource.js'
import * as store from './resources.store.js'

/** A resource as a proxy's check needs it. `path` is empty where the whole host is the resource. */
export type ResourceAtHost = Resource & { path: string; scopeNames: readonly string[] }

const metadataPath = '/.well-known/oauth-protected-resource'

/** RFC 9728, 3.1: the path of the resource comes last. */
export const metadataAddress = ({ address, path }: ResourceAtHost) => `${new URL(address).origin}${metadataPath}${path}`

const isAtOrBelow = (path: string, { path: start }: ResourceAtHost) =>
  start === '' || path === start || path.startsWith(start.endsWith('/') ? start : `${start}/`)

export type ResourcesAtHosts = ReturnType<typeof createResourcesAtHosts>

/** The resources in memory, by their hosts: every request of the visitors of a protected application may ask for one. */
export const createResourcesAtHosts = ({ database }: { database: Database }) => {
  let byOrigin: ReadonlyMap<string, readonly ResourceAtHost[]> = new Map()
  let readAt: number | undefined

  return {
    isAny: (origin: string) => byOrigin.has(origin),
    /** The resource at this path or above it. A path that two programs could read differently is that of none. */
    find: (origin: string, path: string) => {
      const all = byOrigin.get(origin)
      if (!all || !isPlainPath(path)) return undefined
      return all.find((each) => isAtOrBelow(path, each))
    },
    /** The resource whose metadata is at this path. */
    findDescribed: (origin: string, path: string) =>
      byOrigin.get(origin)?.find((each) => path === `${metadataPath}${each.path}`),
    /** Reads them again if anything was changed more often than when they were read. */
    follow: async (changes: number) => {
      if (changes === readAt) return
      const found = new Map<string, ResourceAtHost[]>()
      for (const resource of await store.selectAll(database)) {
        const { origin, pathname } = new URL(resource.address)
        const path = pathname === '/' ? '' : pathname
        const others = found.get(origin) ?? []
        const all = [...others, { ...resource, path, scopeNames: scopeNames(resource) }]
        // The longest path is the resource that is meant.
        found.set(
          origin,
          all.toSorted((one, other) => other.path.length - one.path.length),
        )
      }
      byOrigin = found
      readAt = changes
    },
  }
}
