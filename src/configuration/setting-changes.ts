import type { LiveSettingName } from '../contract/configuration.js'
import { refuse } from '../contract/outcome.js'
import type { RequestOrigin } from '../http/request-origin.js'
import { fingerprint } from '../lib/random.js'
import type { ConfigurationTrail } from '../messages/configuration-trail.js'
import type { Events } from '../messages/events.js'
import { commitUnlessRefused, type Database, type Transaction } from '../platform/database/database.js'
import { type DescribedSetting, type LiveSettingsReader, readLiveSetting } from '../settings/live-settings.js'

type Needed = {
  database: Database
  events: Pick<Events, 'checkActor'>
  configurationTrail: ConfigurationTrail
  liveSettings: LiveSettingsReader
}

/** `by`: the name of the person, as the page shows it. */
export type SettingChange = { origin: RequestOrigin; by: string; expectedVersion?: string | undefined }

const textOf = (value: unknown) => [value].flat().join(',') || 'none'

/** Another text after each change of the setting. */
export const settingVersion = ({ value, setBy }: DescribedSetting) =>
  fingerprint(JSON.stringify([value, setBy]))
    .toString('base64url')
    .slice(0, 22)

/** The event of a change. `undefined`: the default. */
const record = (
  { configurationTrail }: Needed,
  sql: Transaction,
  name: LiveSettingName,
  { before, after }: { before: unknown; after: unknown },
  origin: RequestOrigin,
) =>
  configurationTrail.record(
    sql,
    {
      kind: 'setting_changed',
      reason: `${name}: ${textOf(before)} -> ${textOf(after)}`,
      details: { kind: 'setting', name, before: { value: before }, after: { value: after } },
    },
    origin,
  )

const isSame = (one: unknown, other: unknown) => JSON.stringify(one) === JSON.stringify(other)

/** For configuration files, which change many things in one transaction. */
const openForFiles = (needed: Needed) => {
  const { liveSettings } = needed
  return {
    /** The settings that file or page have set. */
    lockAll: async (sql: Transaction) => {
      await liveSettings.lock(sql)
      return (await liveSettings.describe(sql)).filter(({ setBy }) => typeof setBy === 'object')
    },
    write: async (
      { sql, origin, file }: { sql: Transaction; origin: RequestOrigin; file: string },
      name: LiveSettingName,
      value: unknown,
      before: DescribedSetting | undefined,
    ) => {
      const former = before ?? (await liveSettings.describe(sql)).find((each) => each.name === name)
      await liveSettings.write(sql, name, value, origin.userAgent, file)
      if (!isSame(former?.value, value))
        await record(needed, sql, name, { before: former?.value, after: value }, origin)
    },
    remove: async (
      { sql, origin }: { sql: Transaction; origin: RequestOrigin },
      { name, value, default: after }: DescribedSetting,
    ) => {
      await liveSettings.remove(sql, name)
      if (!isSame(value, after)) await record(needed, sql, name, { before: value, after }, origin)
    },
    release: (sql: Transaction, name: LiveSettingName) => liveSettings.release(sql, name),
  }
}

export type SettingChanges = ReturnType<typeof createSettingChanges>

/** Changes of the settings that can change while the service runs. */
export const createSettingChanges = (needed: Needed) => {
  const { database, events, liveSettings } = needed

  /** Runs `work` while nobody else changes a setting. Returns the setting as it is afterwards. */
  const change = async (
    name: LiveSettingName,
    { origin, expectedVersion }: SettingChange,
    work: (sql: Transaction, before: DescribedSetting) => Promise<unknown>,
  ) => {
    const find = async (sql: Transaction | Database) => {
      const found = (await liveSettings.describe(sql)).find((each) => each.name === name)
      if (!found) throw new Error(`There is no setting ${name}`)
      return found
    }
    const changed = await commitUnlessRefused(database, async (sql) => {
      await events.checkActor(sql, origin)
      await liveSettings.lock(sql)
      const before = await find(sql)
      if (before.setBy === 'environment') return refuse('set_by_environment')
      if (typeof before.setBy === 'object' && 'file' in before.setBy)
        return refuse('set_by_file', { file: before.setBy.file })
      if (expectedVersion !== undefined && settingVersion(before) !== expectedVersion)
        return refuse('changed_meanwhile')
      await work(sql, before)
      return find(sql)
    })
    // This instance shows the new value at once, the others within two seconds.
    await liveSettings.load()
    return changed
  }

  return {
    write: async (name: LiveSettingName, value: unknown, given: SettingChange) => {
      const read = readLiveSetting(name, value)
      if (!read) return refuse('invalid_configuration')
      return change(name, given, async (sql, before) => {
        await liveSettings.write(sql, name, read.value, given.by, undefined)
        if (!isSame(before.value, read.value))
          await record(needed, sql, name, { before: before.value, after: read.value }, given.origin)
      })
    },

    /** Back to the default. */
    remove: (name: LiveSettingName, given: SettingChange) =>
      change(name, given, async (sql, before) => {
        await liveSettings.remove(sql, name)
        if (!isSame(before.value, before.default))
          await record(needed, sql, name, { before: before.value, after: before.default }, given.origin)
      }),

    forFiles: openForFiles(needed),
  }
}
