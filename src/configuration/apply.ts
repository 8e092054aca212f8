import { type ConfigurationChange, configurationKinds, type KindName, kindNames } from '../contract/configuration.js'
import type { RequestOrigin } from '../http/request-origin.js'
import type { Events } from '../messages/events.js'
import type { Database, Transaction } from '../platform/database/database.js'
import type { LiveSettingsReader } from '../settings/live-settings.js'
import * as store from './configuration.store.js'
import { faultIn } from './configuration-fault.js'
import { type Applying, type Current, extrasOf, type Kind } from './kinds.js'
import type { Configuration, Wanted } from './read-configuration.js'

/** `secrets`: those that were made for new applications, by their names. They cannot be shown again. */
export type Applied = { changes: readonly ConfigurationChange[]; secrets: Readonly<Record<string, string>> }

export type ApplyOptions = {
  /** Removes what the file owned and does not name any more, instead of handing it back. */
  prune: boolean
  makesSecrets: boolean
  /** What was confirmed: anything else is not written. */
  confirmed?: readonly ConfigurationChange[] | undefined
}

/** Thrown to roll a plan back. */
class OnlyPlanned extends Error {
  override name = 'OnlyPlanned'
  readonly applied: Applied
  constructor(applied: Applied) {
    super('only planned')
    this.applied = applied
  }
}

type Needed = {
  database: Database
  events: Pick<Events, 'recordInside'>
  liveSettings: Pick<LiveSettingsReader, 'load'>
  kinds: Readonly<Record<KindName, Kind>>
}

const isSame = (one: unknown, other: unknown) => JSON.stringify(one) === JSON.stringify(other)

/** In the order of the keys, which a file may have in any order. */
const sorted = (shape: object) =>
  Object.fromEntries(Object.entries(shape).sort(([one], [other]) => (one < other ? -1 : 1)))

const createApplication = ({ events, kinds }: Needed, configuration: Configuration, applying: Applying) => {
  const { sql, origin, file } = applying
  const { path, things } = configuration
  const changes: ConfigurationChange[] = []
  const secrets: Record<string, string> = {}

  const failed = (kind: KindName, name: string, { line }: Wanted, fault: string) =>
    faultIn(path, `${kind}.${name}: ${fault}`, line)

  const applyOne = async (kindName: KindName, name: string, wanted: Wanted, now: Current<unknown> | undefined) => {
    const kind = kinds[kindName]
    const change = { kind: configurationKinds[kindName].one, name }
    const after = sorted(kind.shapeOf(name, wanted, now))
    const extras = extrasOf(wanted, now)
    if (!now) {
      const added = await kind.add(applying, name, wanted)
      if ('fault' in added) throw failed(kindName, name, wanted, added.fault)
      if (added.secret !== undefined) secrets[name] = added.secret
      changes.push({ ...change, action: 'add', after, ...extras })
      return
    }
    const before = sorted(now.shape)
    const isOwned = now.file === file
    if (isOwned && isSame(before, after) && Object.keys(extras).length === 0) return
    const refusal = await kind.change(applying, name, wanted, now)
    if (refusal) throw failed(kindName, name, wanted, refusal.fault)
    const reason = `${change.kind} ${name}`
    if (!isOwned) await events.recordInside(sql, { kind: 'configuration_owned', reason }, origin)
    changes.push({
      ...change,
      action: 'change',
      before,
      after,
      ...(!isOwned && { takenFrom: now.file ?? null }),
      ...extras,
    })
  }

  const letGo = async (kindName: KindName, name: string, now: Current<unknown>, prune: boolean) => {
    const kind = kinds[kindName]
    const change = { kind: configurationKinds[kindName].one, name, before: sorted(now.shape) }
    if (prune && (await kind.remove(applying, name, now)) === 'removed') {
      changes.push({ ...change, action: 'remove' })
      return
    }
    await kind.release(applying, name, now)
    const reason = `${change.kind} ${name}`
    await events.recordInside(sql, { kind: 'configuration_released', reason }, origin)
    changes.push({ ...change, action: 'release' })
  }

  return async (prune: boolean): Promise<Applied> => {
    const present = new Map<KindName, ReadonlyMap<string, Current<unknown>>>()
    for (const kindName of kindNames) {
      const now = await kinds[kindName].read(sql)
      present.set(kindName, now)
      for (const [name, wanted] of things[kindName]) await applyOne(kindName, name, wanted, now.get(name))
    }
    // The other way round: a group goes after the applications that name it.
    for (const kindName of kindNames.toReversed())
      for (const [name, now] of present.get(kindName) ?? [])
        if (now.file === file && !things[kindName].has(name)) await letGo(kindName, name, now, prune)
    return { changes, secrets }
  }
}

export type ConfigurationFiles = ReturnType<typeof createConfigurationFiles>

/** Applies configuration files: each in one transaction under one lock, so that all of it is written, or nothing. */
export const createConfigurationFiles = (needed: Needed) => {
  const { database, liveSettings } = needed

  const applyInside = async (
    sql: Transaction,
    configuration: Configuration,
    origin: RequestOrigin,
    { prune, makesSecrets }: ApplyOptions,
  ) => {
    await store.lock(sql)
    const { file } = configuration
    const applying = { sql, origin: { ...origin, file }, file: file.name, makesSecrets }
    return createApplication(needed, configuration, applying)(prune)
  }

  return {
    /** What would change. It is applied and rolled back, so that a plan fails where applying would. */
    plan: async (configuration: Configuration, origin: RequestOrigin, options: ApplyOptions): Promise<Applied> => {
      try {
        return await database.transaction(async (sql) => {
          throw new OnlyPlanned(await applyInside(sql, configuration, origin, options))
        })
      } catch (error) {
        if (error instanceof OnlyPlanned) return error.applied
        throw error
      }
    },

    apply: async (configuration: Configuration, origin: RequestOrigin, options: ApplyOptions): Promise<Applied> => {
      const { confirmed } = options
      const applied = await database.transaction(async (sql) => {
        const outcome = await applyInside(sql, configuration, origin, options)
        if (confirmed && !isSame(confirmed, outcome.changes))
          throw faultIn(configuration.path, 'something else would change by now than what was confirmed: try again')
        return outcome
      })
      await liveSettings.load()
      return applied
    },

    /** What is there now, by kinds and names, in the words of a file. */
    export: () =>
      database.transaction(async (sql) => {
        const all: [KindName, Record<string, unknown>][] = []
        for (const kindName of kindNames) {
          const things = [...(await needed.kinds[kindName].read(sql))]
          const named = things
            .sort(([one], [other]) => (one < other ? -1 : 1))
            .map(([name, { shape }]) => [name, 'value' in shape ? shape.value : shape])
          if (named.length > 0) all.push([kindName, Object.fromEntries(named)])
        }
        return Object.fromEntries(all.length > 0 ? all : [['groups', {}]])
      }),
  }
}
