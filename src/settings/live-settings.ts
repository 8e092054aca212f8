import { Check } from 'typebox/schema'
import {
  isLiveSetting,
  type LiveSettingName,
  type LiveSettings,
  liveSettingNames,
  type SetBy,
  settingProperties,
} from '../contract/configuration.js'
import type { Database, Sql, Transaction } from '../platform/database/database.js'
import type { Config } from './config.js'
import { InvalidValue } from './setting-values.js'
import * as store from './stored-settings.store.js'
import { registrationDomains } from './word-lists.js'

type Given = Pick<Config, LiveSettingName | 'mailIsOff' | 'settingsOfEnvironment'>

/** A setting as it is now. `default`: what it is without variable, file and page. */
export type DescribedSetting<Name extends LiveSettingName = LiveSettingName> = {
  name: Name
  value: LiveSettings[Name]
  default: LiveSettings[Name]
  setBy: SetBy
}

const defaults: LiveSettings = {
  registration: 'open',
  registrationDomains: [],
  mailSignIn: 'off',
  secondFactor: 'optional',
}

/** The value of a file or a page as it is stored; undefined if it is none. */
export const readLiveSetting = (name: LiveSettingName, value: unknown) => {
  if (!Check(settingProperties[name].schema, value)) return undefined
  if (name !== 'registrationDomains') return { value }
  try {
    const domains = value as readonly string[]
    // A comma would divide a domain.
    return domains.some((domain) => domain.includes(',')) ? undefined : { value: registrationDomains(domains.join()) }
  } catch (error) {
    if (error instanceof InvalidValue) return undefined
    throw error
  }
}

const setByOf = ({ set_by_file: file, changed_by: page, changed_at: at }: store.StoredSettingRow): SetBy =>
  file === null ? { page, at: at.toISOString() } : { file }

export type LiveSettingsReader = ReturnType<typeof createLiveSettings>

/**
 * The settings that can change while the service runs: a variable counts more than a file, a file more than the page, the page more than
 * the default. Each instance keeps them in memory, and goes on with what it knows while the database is away.
 */
export const createLiveSettings = (config: Given, database: Database) => {
  let stored = new Map<LiveSettingName, store.StoredSettingRow>()
  let current: LiveSettings | undefined
  let readAt: number | undefined

  /** Without mail nobody can confirm an address, so these two are as if a variable had set them. */
  const withoutMail: Partial<LiveSettings> = config.mailIsOff ? { registration: 'closed', mailSignIn: 'off' } : {}
  const isFixed = (name: LiveSettingName) => config.settingsOfEnvironment.includes(name) || name in withoutMail
  const fixedValue = (name: LiveSettingName) => withoutMail[name] ?? config[name]

  const presentValue = (name: LiveSettingName) => {
    if (isFixed(name)) return fixedValue(name)
    // A value that a newer release has stored may be unknown here.
    const row = stored.get(name)
    return (row && readLiveSetting(name, row.value)?.value) ?? config[name]
  }

  const now = (): LiveSettings => {
    current ??= Object.fromEntries(liveSettingNames.map((name) => [name, presentValue(name)])) as LiveSettings
    return current
  }

  const load = async () => {
    const rows = await store.selectAll(database)
    stored = new Map(rows.flatMap((row) => (isLiveSetting(row.name) ? [[row.name, row]] : [])))
    current = undefined
  }

  return {
    /** The same object until something has changed. */
    now,
    load,
    /** Reads them again if something was changed more often than when they were read. */
    follow: async (changes: number) => {
      if (changes === readAt) return
      await load()
      readAt = changes
    },
    isFixed,
    /** As they are in the database. */
    describe: async (sql: Sql = database): Promise<DescribedSetting[]> => {
      const rows = new Map((await store.selectAll(sql)).map((row) => [row.name, row]))
      return liveSettingNames.map((name) => {
        const row = rows.get(name)
        const described = { name, default: defaults[name] }
        if (isFixed(name)) return { ...described, value: fixedValue(name), setBy: 'environment' }
        const read = row && readLiveSetting(name, row.value)
        if (!row || !read) return { ...described, value: defaults[name], setBy: 'default' }
        return { ...described, value: read.value, setBy: setByOf(row) }
      })
    },
    /** Others who change a setting wait until the transaction ends. */
    lock: (sql: Transaction) => store.lock(sql),
    write: async (sql: Transaction, name: LiveSettingName, value: unknown, by: string, file: string | undefined) => {
      await store.upsert(sql, { name, value, by, file: file ?? null })
    },
    /** The value stays, and is for pages and commands to change from now on. */
    release: async (sql: Transaction, name: LiveSettingName) => {
      await store.releaseOne(sql, name)
    },
    remove: async (sql: Transaction, name: LiveSettingName) => {
      await store.remove(sql, name)
    },
  }
}
