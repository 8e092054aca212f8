import type { ChangeOptions } from '../../applications/application-changes.js'
import type { UsedApplications } from '../../applications/used-applications.js'
import type { EventDetails } from '../../contract/configuration.js'
import { refuse } from '../../contract/outcome.js'
import type { Groups } from '../../groups/groups.js'
import type { RequestOrigin } from '../../http/request-origin.js'
import type { Clock } from '../../lib/clock.js'
import { fingerprint } from '../../lib/random.js'
import { uuidv7 } from '../../lib/uuid.js'
import type { ConfigurationEventKind, ConfigurationTrail } from '../../messages/configuration-trail.js'
import type { Events } from '../../messages/events.js'
import {
  commitUnlessRefused,
  type Database,
  isUniqueViolation,
  type Transaction,
} from '../../platform/database/database.js'
import {
  type NewResource,
  normalResource,
  type Resource,
  type ResourceChange,
  recordedResource,
  recordedValues,
  resourceFault,
} from './resource.js'
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
  events: Pick<Events, 'checkActor'>
  configurationTrail: ConfigurationTrail
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

const isSame = (one: unknown, other: unknown) => JSON.stringify(one) === JSON.stringify(other)

/** The names of what differs. Who owns it is told by an event of its own. */
const changedFields = (before: Resource, after: Resource) =>
  (Object.keys(after) as (keyof Resource)[]).filter(
    (field) => field !== 'setByFile' && !isSame(before[field], after[field]),
  )

/** What differs, as events keep it. */
const differences = (before: Resource, after: Resource) => {
  const [old, now] = [recordedValues(before), recordedValues(after)]
  const names = (Object.keys(old) as (keyof typeof old)[]).filter((name) => !isSame(old[name], now[name]))
  const pick = (values: typeof old) => Object.fromEntries(names.map((name) => [name, values[name]]))
  return { before: pick(old), after: pick(now) }
}

/** Another text after each change. */
const versionOf = ({ createdAt: _, ...resource }: Resource) =>
  fingerprint(JSON.stringify(Object.entries(resource).sort(([one], [other]) => (one < other ? -1 : 1))))
    .toString('base64url')
    .slice(0, 22)

const record = (
  { configurationTrail }: Needed,
  sql: Transaction,
  kind: ConfigurationEventKind,
  { id, name }: Resource,
  { summary, ...values }: { summary?: string } & Pick<EventDetails, 'before' | 'after'>,
  origin: RequestOrigin,
) => {
  const reason = summary === undefined ? name : `${name}: ${summary}`
  return configurationTrail.record(sql, { kind, reason, details: { kind: 'resource', name, id, ...values } }, origin)
}

/** `id`: of one that was deleted, and is there again. `setByFile`: the file that owns the resource from now on. */
type Fixed = { id?: string | undefined; setByFile?: string | null }

const addInside = async (
  needed: Needed,
  sql: Transaction,
  newResource: NewResource,
  origin: RequestOrigin,
  { id, setByFile = null }: Fixed,
) => {
  const now = needed.clock.now()
  const resource: Resource = {
    ...newResource,
    address: normalResource(newResource.address) ?? newResource.address,
    id: id ?? uuidv7(now),
    createdAt: now,
    setByFile,
  }
  const fault = await faultOf(sql, resource, needed)
  if (fault) return fault
  if ((await store.insert(sql, resource)).length === 0) return refuse('resource_taken')
  await record(needed, sql, 'resource_added', resource, { after: recordedResource(resource) }, origin)
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
  const summary = changedFields(before, resource).join(', ')
  await store.update(sql, resource)
  if (summary === '') return { resource, summary }
  await needed.usedApplications.endWithoutRight(sql, { resourceId: before.id }, origin)
  // By its former name: under that others know it.
  await record(needed, sql, 'resource_changed', before, { summary, ...differences(before, resource) }, origin)
  return { resource, summary }
}

/** The sessions of programs that were for it end with it. */
const deleteInside = async (needed: Needed, sql: Transaction, resource: Resource, origin: RequestOrigin) => {
  await store.remove(sql, resource.id)
  await record(needed, sql, 'resource_deleted', resource, { before: recordedResource(resource) }, origin)
  return { resource }
}

export type ResourceChanges = ReturnType<typeof createResourceChanges>

/** Changes of resources by operators. Each is one transaction, with its event. */
export const createResourceChanges = (needed: Needed) => {
  const { database, events, usedApplications } = needed

  /** Refuses what a file owns, and what is not as it was when the caller read it. */
  const whileHeld = <Outcome extends object>(
    id: string,
    origin: RequestOrigin,
    { expectedVersion, endsAccess = false }: ChangeOptions,
    work: (sql: Transaction, resource: Resource) => Promise<Outcome>,
  ) =>
    commitUnlessRefused(database, async (sql) => {
      await events.checkActor(sql, origin)
      const [resource] = await store.lockById(sql, id)
      if (!resource) return refuse('no_resource')
      if (expectedVersion !== undefined && versionOf(resource) !== expectedVersion) return refuse('changed_meanwhile')
      const { setByFile: file } = resource
      if (file !== null) return refuse('set_by_file', { file })
      if (endsAccess) await usedApplications.endOfResource(sql, id, origin)
      return work(sql, resource)
    })

  return {
    versionOf,

    add: (newResource: NewResource, origin: RequestOrigin, { id }: Pick<Fixed, 'id'> = {}) =>
      commitUnlessRefused(database, async (sql) => {
        await events.checkActor(sql, origin)
        return addInside(needed, sql, newResource, origin, { id })
      }),

    change: async (id: string, change: ResourceChange, origin: RequestOrigin, options: ChangeOptions = {}) => {
      try {
        return await whileHeld(id, origin, options, (sql, before) => changeInside(needed, sql, before, change, origin))
      } catch (error) {
        if (isUniqueViolation(error, 'resources_name')) return refuse('resource_taken')
        throw error
      }
    },

    delete: (id: string, origin: RequestOrigin, options: ChangeOptions = {}) =>
      whileHeld(id, origin, options, (sql, resource) => deleteInside(needed, sql, resource, origin)),

    /** For configuration files, in their transaction. */
    forFiles: {
      lockAll: (sql: Transaction) => store.lockAll(sql),
      add: (sql: Transaction, newResource: NewResource, origin: RequestOrigin, file: string) =>
        addInside(needed, sql, newResource, origin, { setByFile: file }),
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
