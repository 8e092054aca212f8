import {
  type ApplicationChanges,
  applicationRefusalSentence,
  type NewApplicationRefusal,
} from '../applications/application-changes.js'
import { newApplicationFrom, shapeFault, shapeOf } from '../applications/application-shape.js'
import type { Application } from '../applications/applications.js'
import type { ApplicationShape, KindName, LiveSettingName, ResourceShape } from '../contract/configuration.js'
import { isRefused, type Refused } from '../contract/outcome.js'
import type { Groups } from '../groups/groups.js'
import type { RequestOrigin } from '../http/request-origin.js'
import { fingerprint } from '../lib/random.js'
import {
  type Resource,
  type ResourceRefusal,
  type ResourceTaken,
  resourceFrom,
  resourceRefusalSentence,
  resourceShapeOf,
  resourceTakenSentence,
} from '../openid/resources/resource.js'
import type { ResourceChanges } from '../openid/resources/resources.js'
import type { Transaction } from '../platform/database/database.js'
import type { DescribedSetting } from '../settings/live-settings.js'
import type { Wanted } from './read-configuration.js'
import type { SettingChanges } from './setting-changes.js'

/** A thing as it is now. `secrets` and `icon` are compared with what a file wants, and never shown. */
export type Current<Handle> = {
  shape: object
  /** The file that owns it. */
  file: string | undefined
  handle: Handle
  /** Whether the file names its secrets too. */
  ownsSecrets?: boolean
  hashes?: readonly Uint8Array[]
  icon?: string | undefined
}

/** What applies a file, in its transaction. `file`: the owner from now on. */
export type Applying = {
  sql: Transaction
  origin: RequestOrigin
  file: string
  /** Removes what the file owned and does not name any more, instead of handing it back. */
  prune: boolean
  /** Whether an application that is new and has no secret gets one. */
  makesSecrets: boolean
}

/** A thing that the file names, with what is there under this name. */
type WantedAndNow<Handle> = { name: string; wanted: Wanted; now: Current<Handle> | undefined }

/** The sentence of a refusal, or nothing. */
type Refusal = { fault: string } | undefined

/**
 * A kind of things that a file can have. `shapeOf` says a wanted shape as it will be stored, so that both can be compared. A kind is
 * complete if it has a row here, in `contract/configuration` and in the readers.
 */
export type Kind<Handle = unknown> = {
  read(sql: Transaction): Promise<ReadonlyMap<string, Current<Handle>>>
  shapeOf(name: string, wanted: Wanted, current: Current<Handle> | undefined): object
  /** Before anything is changed: takes away what one of them has now and another one is to have. */
  makeRoom?(applying: Applying, named: readonly WantedAndNow<Handle>[]): Promise<void>
  add(applying: Applying, name: string, wanted: Wanted): Promise<{ fault: string } | { secret?: string | undefined }>
  change(applying: Applying, name: string, wanted: Wanted, current: Current<Handle>): Promise<Refusal>
  /** `kept`: it cannot be removed, and is handed back instead. */
  remove(applying: Applying, name: string, current: Current<Handle>): Promise<'removed' | 'kept'>
  release(applying: Applying, name: string, current: Current<Handle>): Promise<void>
}

type Needed = {
  groups: Groups
  applicationChanges: ApplicationChanges
  loadResourceChanges: () => Promise<ResourceChanges>
  settingChanges: SettingChanges
}

const groupsKind = ({ groups }: Needed): Kind<undefined> => ({
  read: async (sql) => {
    const owners = await groups.forFiles.owners(sql)
    return new Map(owners.map(({ name, file }) => [name, { shape: {}, file, handle: undefined }]))
  },
  shapeOf: () => ({}),
  add: async ({ sql, origin, file }, name) => {
    await groups.addInside(sql, name, origin)
    await groups.forFiles.own(sql, name, file)
    return {}
  },
  change: async ({ sql, file }, name) => {
    await groups.forFiles.own(sql, name, file)
    return undefined
  },
  // A group that has members, or that something else names, is never removed by a file.
  remove: async ({ sql, origin }, name) =>
    isRefused(await groups.forFiles.remove(sql, name, origin)) ? 'kept' : 'removed',
  release: ({ sql }, name) => groups.forFiles.own(sql, name, undefined),
})

const sentenceOf = (refusal: NewApplicationRefusal) => applicationRefusalSentence(refusal)

const wantedShape = ({ shape }: Wanted) => shape as ApplicationShape

/** As it will be stored. The id of a new one is not known before it is made. */
const wantedApplicationShape = (name: string, wanted: Wanted, current: Current<Application> | undefined) => {
  const id = wantedShape(wanted).id ?? current?.handle.id ?? ''
  const fields = newApplicationFrom(name, wantedShape(wanted))
  const owner = { setByFile: undefined, secretsByFile: false }
  const { id: shownId, ...shape } = shapeOf({ ...fields, ...owner, id, createdAt: new Date(0), document: undefined })
  return id === '' ? shape : { id: shownId, ...shape }
}

/** The id of an application that has a site now and is to have another one, or none. */
const leavesSite = ({ name, wanted, now }: WantedAndNow<Application>) => {
  const { id, proxyOrigin } = now?.handle ?? {}
  if (id === undefined || proxyOrigin === undefined) return []
  return newApplicationFrom(name, wantedShape(wanted)).proxyOrigin === proxyOrigin ? [] : [id]
}

const applicationsKind = ({ applicationChanges: { forFiles } }: Needed): Kind<Application> => {
  /** The secrets and the icon of an application that is there. */
  const changeExtras = async ({ sql, origin }: Applying, { secrets, icon }: Wanted, current: Current<Application>) => {
    const { handle } = current
    if (secrets && handle.kind !== 'web') return { fault: 'only an application of the kind web has secrets' }
    if (secrets && !hasSecrets(secrets, current)) await forFiles.setSecrets(sql, handle, secrets, origin)
    if (icon !== undefined && versionOf(icon) !== current.icon) await forFiles.setIcon(sql, handle, icon, origin)
    return undefined
  }
  return {
    read: async (sql) => {
      const all = await forFiles.lockAll(sql)
      return new Map(
        all.map(({ application, hashes, icon }) => [
          application.name,
          {
            shape: shapeOf(application),
            file: application.setByFile,
            ownsSecrets: application.secretsByFile,
            handle: application,
            hashes,
            icon,
          },
        ]),
      )
    },
    shapeOf: wantedApplicationShape,
    makeRoom: async ({ sql }, named) => forFiles.leaveSites(sql, named.flatMap(leavesSite)),
    add: async ({ sql, origin, file, makesSecrets }, name, wanted) => {
      const shape = wantedShape(wanted)
      const fault = shapeFault(shape)
      if (fault !== undefined) return { fault }
      const application = newApplicationFrom(name, shape)
      const isWeb = application.kind === 'web' && application.redirectAddresses.length > 0
      if (wanted.secrets && !isWeb)
        return { fault: 'only an application of the kind web that has redirect addresses has a secret' }
      const secrets = wanted.secrets ?? (makesSecrets ? undefined : [])
      const added = await forFiles.add(sql, application, origin, {
        id: shape.id,
        secrets,
        setByFile: file,
        secretsByFile: wanted.secrets !== undefined,
      })
      if (isRefused(added))
        return added.refused === 'too_many_secrets'
          ? { fault: 'it has too many secrets' }
          : { fault: sentenceOf(added) }
      if (wanted.icon) await forFiles.setIcon(sql, added.application, wanted.icon, origin)
      return { secret: wanted.secrets ? undefined : added.secret }
    },
    change: async (applying, name, wanted, current) => {
      const { sql, origin, file } = applying
      const shape = wantedShape(wanted)
      const { handle } = current
      if (shape.id !== undefined && shape.id !== handle.id)
        return {
          fault: `its id is ${handle.id}, and cannot change: leave id out, or give the application another name`,
        }
      if ((shape.kind ?? 'web') !== handle.kind)
        return { fault: `its kind is ${handle.kind}, and cannot change: give the application another name` }
      const fault = shapeFault(shape)
      if (fault !== undefined) return { fault }
      const { kind: _, ...change } = newApplicationFrom(name, shape)
      const owner = { setByFile: file, secretsByFile: wanted.secrets !== undefined }
      const changed = await forFiles.change(sql, handle, { ...change, ...owner }, origin)
      return isRefused(changed) ? { fault: sentenceOf(changed) } : changeExtras(applying, wanted, current)
    },
    remove: async ({ sql, origin }, _, { handle }) => {
      await forFiles.delete(sql, handle, origin)
      return 'removed'
    },
    release: async ({ sql, origin }, _, { handle }) => {
      await forFiles.change(sql, handle, { setByFile: undefined, secretsByFile: false }, origin)
    },
  }
}

const resourceSentence = (refusal: ResourceRefusal | ResourceTaken | NoGroup) => {
  if (refusal.refused === 'resource_taken') return resourceTakenSentence(refusal)
  return refusal.refused === 'no_group' ? `there is no group ${refusal.group}` : resourceRefusalSentence(refusal)
}
type NoGroup = Refused<'no_group'> & { group: string }

const resourcesKind = ({ loadResourceChanges }: Needed): Kind<Resource> => ({
  read: async (sql) =>
    new Map(
      (await (await loadResourceChanges()).forFiles.lockAll(sql)).map((resource) => [
        resource.name,
        { shape: resourceShapeOf(resource), file: resource.setByFile ?? undefined, handle: resource },
      ]),
    ),
  shapeOf: (name, { shape }) => {
    const wanted = resourceFrom(name, shape as ResourceShape)
    return resourceShapeOf(wanted)
  },
  add: async ({ sql, origin, file }, name, { shape }) => {
    const { forFiles } = await loadResourceChanges()
    const added = await forFiles.add(sql, resourceFrom(name, shape as ResourceShape), origin, file)
    return isRefused(added) ? { fault: resourceSentence(added) } : { secret: undefined }
  },
  change: async ({ sql, origin, file }, name, { shape }, { handle }) => {
    const { address, ...change } = resourceFrom(name, shape as ResourceShape)
    if (address !== handle.address)
      return { fault: `its address is ${handle.address}, and cannot change: give the resource another name` }
    const { forFiles } = await loadResourceChanges()
    const changed = await forFiles.change(sql, handle, { ...change, setByFile: file }, origin)
    return isRefused(changed) ? { fault: resourceSentence(changed) } : undefined
  },
  remove: async ({ sql, origin }, _, { handle }) => {
    const { forFiles } = await loadResourceChanges()
    await forFiles.delete(sql, handle, origin)
    return 'removed'
  },
  release: async ({ sql, origin }, _, { handle }) => {
    const { forFiles } = await loadResourceChanges()
    await forFiles.change(sql, handle, { setByFile: null }, origin)
  },
})

const settingsKind = ({ settingChanges: { forFiles } }: Needed): Kind<DescribedSetting> => ({
  read: async (sql) => {
    const stored = await forFiles.lockAll(sql)
    return new Map(
      stored.map((setting) => [
        setting.name,
        {
          shape: { value: setting.value },
          file: typeof setting.setBy === 'object' && 'file' in setting.setBy ? setting.setBy.file : undefined,
          handle: setting,
        },
      ]),
    )
  },
  shapeOf: (_, { shape }) => shape,
  add: async (applying, name, { shape }) => {
    await forFiles.write(applying, name as LiveSettingName, (shape as { value: unknown }).value, undefined)
    return {}
  },
  change: async (applying, _, { shape }, { handle }) => {
    await forFiles.write(applying, handle.name, (shape as { value: unknown }).value, handle)
    return undefined
  },
  remove: async (applying, _, { handle }) => {
    await forFiles.remove(applying, handle)
    return 'removed'
  },
  release: ({ sql }, _, { handle }) => forFiles.release(sql, handle.name),
})

const asKind = <Handle>(kind: Kind<Handle>) => kind as unknown as Kind

/** What a file does with each kind, in the order in which things can name each other. */
export const openKinds = (needed: Needed): Readonly<Record<KindName, Kind>> => ({
  groups: asKind(groupsKind(needed)),
  applications: asKind(applicationsKind(needed)),
  resources: asKind(resourcesKind(needed)),
  settings: asKind(settingsKind(needed)),
})

/** The text by which icons are compared. */
const versionOf = (png: Buffer | null) => (png ? fingerprint(png).toString('hex').slice(0, 16) : undefined)

/** Whether these are all of its secrets, in any order. */
const hasSecrets = (secrets: readonly string[], { hashes = [] }: Current<unknown>) => {
  const known = new Set(hashes.map((hash) => Buffer.from(hash).toString('hex')))
  return secrets.length === known.size && secrets.every((secret) => known.has(fingerprint(secret).toString('hex')))
}

/** What changes of the secrets and the icon, without either. */
export const extrasOf = ({ secrets, icon }: Wanted, current: Current<unknown> | undefined) => {
  const known = new Set((current?.hashes ?? []).map((hash) => Buffer.from(hash).toString('hex')))
  const wanted = new Set((secrets ?? []).map((secret) => fingerprint(secret).toString('hex')))
  const added = [...wanted].filter((hash) => !known.has(hash)).length
  const removed = secrets ? [...known].filter((hash) => !wanted.has(hash)).length : 0
  const ownsSecrets = secrets !== undefined
  return {
    ...(current?.ownsSecrets !== undefined && current.ownsSecrets !== ownsSecrets && { ownsSecrets }),
    ...(added + removed > 0 && { secrets: { added, removed } }),
    ...(icon !== undefined &&
      versionOf(icon) !== current?.icon && { icon: icon ? ('set' as const) : ('removed' as const) }),
  }
}
