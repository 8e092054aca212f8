import type { UsedApplications } from '../../applications/used-applications.js'
import { refuse } from '../../contract/outcome.js'
import type { Groups } from '../../groups/groups.js'
import type { RequestOrigin } from '../../http/request-origin.js'
import type { Clock } from '../../lib/clock.js'
import { uuidv7 } from '../../lib/uuid.js'
import type { Events } from '../../messages/events.js'
import {
  commitUnlessRefused,
  type Database,
  isUniqueViolation,
  type Transaction,
} from '../../platform/database/database.js'
import { type NewResource, normalResource, type Resource, type ResourceChange, resourceFault } from './resource.js'
import * as store from './resources.store.js'

export type Resources = ReturnType<typeof createResources>

/** Finds resources for everything that issues tokens. Operators change them with `createResourceChanges`. */
export const createResources = ({ database }: { database: Database }) => ({
  /** By the value of the parameter `resource`. */
  findByAddress: async (text: string): Promise<Resource | undefined> => {
    const address = normalResource(text)
    return address === undefined ? undefined : (await store.selectByAddress(database, address))[0]
  },
  find: async (id: string): Promise<Resource | undefined> => (await store.selectById(database, id))[0],
  findByName: async (name: string): Promise<Resource | undefined> => (await store.selectByName(database, name))[0],
  list: (): Promise<Resource[]> => store.selectAll(database),
})

type Needed = {
  database: Database
  clock: Clock
  events: Events
  groups: Groups
  usedApplications: UsedApplications
  production: boolean
}

/** Checks a resource and its groups. The groups are held, so that none is deleted before the transaction ends. */
const faultOf = async (sql: Transaction, resource: NewResource, { groups, production }: Needed) => {
  const fault = resourceFault(resource, production)
  if (fault) return fault
  const existing = await groups.hold(sql, resource.groups)
  const unknown = resource.groups.find((name) => !existing.includes(name))
  return unknown === undefined ? undefined : refuse('no_group', { group: unknown })
}

/** The names of what differs. Who owns it is told by an event of its own. */
const differences = (before: Resource, after: Resource) =>
  (Object.keys(after) as (keyof Resource)[]).filter(
    (field) => field !== 'setByFile' && JSON.stringify(before[field]) !== JSON.stringify(after[field]),
  )

const addInside = async (
  needed: Needed,
  sql: Transaction,
  newResource: NewResource,
  origin: RequestOrigin,
  setByFile: string | null,
) => {
  const now = needed.clock.now()
  const resource: Resource = {
    ...newResource,
    address: normalResource(newResource.address) ?? newResource.address,
    id: uuidv7(now),
    createdAt: now,
    setByFile,
  }
  const fault = await faultOf(sql, resource, needed)
  if (fault) return fault
  if ((await store.insert(sql, resource)).length === 0) return refuse('resource_taken')
  await needed.events.recordInside(sql, { kind: 'resource_added', reason: resource.name }, origin)
  return { resource }
}

/** Users who may not use the resource any more lose access at once. */
const changeInside = async (
  needed: Needed,
  sql: Transaction,
  before: Resource,
  change: ResourceChange & { setByFile?: string | null },
  origin: RequestOrigin,
) => {
  const resource = { ...before, ...change }
  const fault = await faultOf(sql, resource, needed)
  if (fault) return fault
  const summary = differences(before, resource).join(', ')
  await store.update(sql, resource)
  if (summary === '') return { resource, summary }
  await needed.usedApplications.endWithoutRight(sql, { resourceId: before.id }, origin)
  const event = { kind: 'resource_changed', reason: `${resource.name}: ${summary}` } as const
  await needed.events.recordInside(sql, event, origin)
  return { resource, summary }
}

/** The sessions of programs that were for it end with it. */
const deleteInside = async ({ events }: Needed, sql: Transaction, resource: Resource, origin: RequestOrigin) => {
  await store.remove(sql, resource.id)
  await events.recordInside(sql, { kind: 'resource_deleted', reason: resource.name }, origin)
  return { resource }
}

export type ResourceChanges = ReturnType<typeof createResourceChanges>

/** Changes of resources by operators. Each is one transaction, with its event. */
export const createResourceChanges = (needed: Needed) => {
  const { database, events } = needed

  /** Refuses what a file owns. */
  const whileHeld = <Outcome extends object>(
    id: string,
    origin: RequestOrigin,
    work: (sql: Transaction, resource: Resource) => Promise<Outcome>,
  ) =>
    commitUnlessRefused(database, async (sql) => {
      await events.checkActor(sql, origin)
      const [resource] = await store.lockById(sql, id)
      if (!resource) return refuse('no_resource')
      const { setByFile: file } = resource
      return file === null ? work(sql, resource) : refuse('set_by_file', { file })
    })

  return {
    add: (newResource: NewResource, origin: RequestOrigin) =>
      commitUnlessRefused(database, async (sql) => {
        await events.checkActor(sql, origin)
        return addInside(needed, sql, newResource, origin, null)
      }),

    change: async (id: string, change: ResourceChange, origin: RequestOrigin) => {
      try {
        return await whileHeld(id, origin, (sql, before) => changeInside(needed, sql, before, change, origin))
      } catch (error) {
        if (isUniqueViolation(error, 'resources_name')) return refuse('resource_taken')
        throw error
      }
    },

    delete: (id: string, origin: RequestOrigin) =>
      whileHeld(id, origin, (sql, resource) => deleteInside(needed, sql, resource, origin)),

    /** For configuration files, in their transaction. */
    forFiles: {
      lockAll: (sql: Transaction) => store.lockAll(sql),
      add: (sql: Transaction, newResource: NewResource, origin: RequestOrigin, file: string) =>
        addInside(needed, sql, newResource, origin, file),
      change: (
        sql: Transaction,
        before: Resource,
        change: ResourceChange & { setByFile?: string | null },
        origin: RequestOrigin,
      ) => changeInside(needed, sql, before, change, origin),
      delete: (sql: Transaction, resource: Resource, origin: RequestOrigin) =>
        deleteInside(needed, sql, resource, origin),
    },
  }
}
