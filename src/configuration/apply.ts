import { type ConfigurationChange, configurationKinds, type KindName, kindNames } from '../contract/configuration.js'
import type { RequestOrigin } from '../http/request-origin.js'
import { reasonOf } from '../lib/caught.js'
import { OperatorError } from '../lib/operator-error.js'
import { nameKey } from '../lib/text.js'
import type { Events } from '../messages/events.js'
import type { Database, Transaction } from '../platform/database/database.js'
import type { LiveSettingsReader } from '../settings/live-settings.js'
import * as store from './configuration.store.js'
import { ConfigurationFault, faultIn } from './configuration-fault.js'
import { type Applying, type Current, extrasOf, type Kind } from './kinds.js'
import type { Configuration, Wanted } from './read-configuration.js'

/**
 * `secrets`: those that were made for new applications, by their names. They cannot be shown again. `owned`: how many things a file of this
 * name has set until now.
 */
export type Applied = {
  changes: readonly ConfigurationChange[]
  secrets: Readonly<Record<string, string>>
  owned: number
}

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

/** A thing that the file names, with what is there under this name. */
type Named = { name: string; wanted: Wanted; now: Current<unknown> | undefined; nameNow: string | undefined }

/** What the file names of a kind, and what it owned and does not name any more. */
type Matched = { named: readonly Named[]; unnamed: readonly (readonly [string, Current<unknown>])[]; owned: number }

/** Another spelling of a name is the same thing, which gets the new spelling. */
const matchNames = (
  things: ReadonlyMap<string, Wanted>,
  present: ReadonlyMap<string, Current<unknown>>,
  file: string,
): Matched => {
  const spellings = new Map([...present.keys()].map((name) => [nameKey(name), name]))
  const named = [...things].map(([name, wanted]) => {
    const nameNow = present.has(name) ? name : spellings.get(nameKey(name))
    return { name, wanted, nameNow, now: nameNow === undefined ? undefined : present.get(nameNow) }
  })
  const found = new Set(named.map(({ nameNow }) => nameNow))
  const owned = [...present].filter(([, now]) => now.file === file)
  return { named, unnamed: owned.filter(([name]) => !found.has(name)), owned: owned.length }
}

/** Everything but groups, the other way round. */
const lettingGo = kindNames.toReversed().filter((kind) => kind !== 'groups')

const createApplication = ({ events, kinds }: Needed, { path, things }: Configuration, applying: Applying) => {
  const { sql, origin, file, prune } = applying
  const changes: ConfigurationChange[] = []
  const secrets = new Map<string, string>()

  const failed = (kind: KindName, name: string, { line }: Wanted, fault: string) => {
    const wasReleased = changes.some(
      ({ kind: each, action }) => action === 'release' && configurationKinds[kind].one === each,
    )
    const help = wasReleased ? ' What the file does not name any more is still there: --prune removes it first.' : ''
    return faultIn(path, `${kind}.${name}: ${fault}${help}`, line)
  }

  const applyOne = async (kindName: KindName, { name, wanted, now, nameNow }: Named) => {
    const kind = kinds[kindName]
    const change = { kind: configurationKinds[kindName].one, name }
    const after = sorted(kind.shapeOf(name, wanted, now))
    const extras = extrasOf(wanted, now)
    if (!now) {
      const added = await kind.add(applying, name, wanted)
      if ('fault' in added) throw failed(kindName, name, wanted, added.fault)
      if (added.secret !== undefined) secrets.set(name, added.secret)
      changes.push({ ...change, action: 'add', after, ...extras })
      return
    }
    const isRenamed = nameNow !== name
    const before = sorted(now.shape)
    const isOwned = now.file === file
    if (isOwned && !isRenamed && isSame(before, after) && Object.keys(extras).length === 0) return
    const refusal = await kind.change(applying, name, wanted, now)
    if (refusal) throw failed(kindName, name, wanted, refusal.fault)
    const reason = `${change.kind} ${name}`
    if (!isOwned) await events.recordInside(sql, { kind: 'configuration_owned', reason }, origin)
    changes.push({
      ...change,
      action: 'change',
      before: isRenamed ? { name: nameNow, ...before } : before,
      after: isRenamed ? { name, ...after } : after,
      ...(!isOwned && { takenFrom: now.file ?? null }),
      ...extras,
    })
  }

  const letGo = async (kindName: KindName, name: string, now: Current<unknown>) => {
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

  return async (): Promise<Applied> => {
    const matched = new Map<KindName, Matched>()
    for (const kind of kindNames) matched.set(kind, matchNames(things[kind], await kinds[kind].read(sql), file))
    // What goes makes room for what comes: something new can have the address of what is removed.
    for (const kind of lettingGo)
      for (const [name, now] of matched.get(kind)?.unnamed ?? []) await letGo(kind, name, now)
    for (const kind of kindNames) {
      const named = matched.get(kind)?.named ?? []
      await kinds[kind].makeRoom?.(applying, named)
      for (const each of named) await applyOne(kind, each)
    }
    // A group goes after the applications that named it, and that may name another one by now.
    for (const [name, now] of matched.get('groups')?.unnamed ?? []) await letGo('groups', name, now)
    const owned = [...matched.values()].reduce((sum, each) => sum + each.owned, 0)
    return { changes, secrets: Object.fromEntries(secrets), owned }
  }
}

/** What no rule has foreseen gets a sentence too: the words of a database alone help no operator. */
const withSentence =
  (path: string) =>
  (error: unknown): never => {
    if (error instanceof OperatorError || error instanceof OnlyPlanned) throw error
    const sentence = `nothing was changed, because of an error that is a bug: please report it (${reasonOf(error)})`
    throw new ConfigurationFault(`${path}: ${sentence}`, { cause: error })
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
    const applying = { sql, origin: { ...origin, file }, file: file.name, prune, makesSecrets }
    return createApplication(needed, configuration, applying)()
  }

  return {
    /** What would change. It is applied and rolled back, so that a plan fails where applying would. */
    plan: async (configuration: Configuration, origin: RequestOrigin, options: ApplyOptions): Promise<Applied> => {
      try {
        return await database
          .transaction(async (sql) => {
            throw new OnlyPlanned(await applyInside(sql, configuration, origin, options))
          })
          .catch(withSentence(configuration.path))
      } catch (error) {
        if (error instanceof OnlyPlanned) return error.applied
        throw error
      }
    },

    apply: async (configuration: Configuration, origin: RequestOrigin, options: ApplyOptions): Promise<Applied> => {
      const { confirmed } = options
      const write = async (sql: Transaction) => {
        const outcome = await applyInside(sql, configuration, origin, options)
        if (confirmed && !isSame(confirmed, outcome.changes))
          throw faultIn(configuration.path, 'something else would change by now than what was confirmed: try again')
        return outcome
      }
      const applied = await database.transaction(write).catch(withSentence(configuration.path))
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
