import { readFileSync } from 'node:fs'
import { resolve } from 'node:path'
import { type LiveSettingName, liveSettingNames, settingProperties } from '../contract/configuration.js'
import { isThisMachine } from '../lib/networks.js'
import { OperatorError, whyUnreadable } from '../lib/operator-error.js'

import { unprotectedFaults } from './connections.js'
import { siblingFaults } from './hosts.js'
import { findTypos } from './likely-typos.js'
import {
  furtherProviderSettings,
  furtherProviders,
  isProviderSetting,
  type ProviderConfigs,
  providerAddressSettings,
  providerConfigs,
  providerFaults,
} from './provider-settings.js'
import {
  describeEnvFile,
  readEnvFile,
  readSecretsFolders,
  secretsFoldersOf,
  takeFromEnvFile,
  withoutPrefixes,
} from './secrets.js'

import { filePath, InvalidValue, list, type Setting, text } from './setting-values.js'
import { settings } from './settings.js'

import { webhookFaults } from './webhook-settings.js'

type Settings = typeof settings
type Name = keyof Settings
type CamelCase<Text extends string> = Text extends `${infer Head}_${infer Tail}`
  ? `${Lowercase<Head>}${Capitalize<CamelCase<Tail>>}`
  : Lowercase<Text>
type Value<Each extends Setting> = ReturnType<Each['read']> | (Each extends { fallback: string } ? never : undefined)
type Values = { readonly [Each in Name as CamelCase<Each>]: Value<Settings[Each]> }

export type Lifetimes = Readonly<Record<'session' | 'refreshToken' | 'accessToken', number>>

/** The settings as the program uses them: each name in camel case, absent ones filled in or `undefined`. */
export type Config = Values & {
  readonly production: boolean
  /** Production without SMTP_URL: nothing is mailed, and nothing that needs a mail is offered. */
  readonly mailIsOff: boolean
  /** The settings that can change while the service runs, and that a variable has. */
  readonly settingsOfEnvironment: readonly LiveSettingName[]
  readonly publicUrl: string
  /** Whether the service runs a PostgreSQL of its own, because DATABASE_URL is not set. */
  readonly ownDatabase: boolean
  readonly lifetimes: Lifetimes
  readonly providers: ProviderConfigs
}

export type Environment = Readonly<Record<string, string | undefined>>

/**
 * Everything that is wrong with the settings, a line each, and below it the names that look like a misspelt one: mostly the cause.
 * A line names the setting and never its value.
 */
export class ConfigurationFaults extends OperatorError {
  override name = 'ConfigurationFaults'
  readonly faults: readonly string[]
  constructor(faults: readonly string[], typos: readonly string[] = []) {
    super([...faults, ...typos].join('\n'))
    this.faults = faults
  }
}

/** Settings that production must not leave to their defaults. */
const requiredInProduction: readonly Name[] = ['PUBLIC_URL']

const settingsThatNeedOthers: readonly (readonly [Name, needed: Name, why: string])[] = [
  ['TERMS_VERSION', 'TERMS_URL', 'so that users can read what they agree to'],
  ['PRODUCT_LOGO_DARK_URL', 'PRODUCT_LOGO_URL', 'which is shown in the light scheme'],
  ['PRODUCT_LOGO_SIZE', 'PRODUCT_LOGO_URL', 'the logo that has this size'],
]

const settingTable: Readonly<Record<string, Setting>> = settings
const camelCase = (name: string) => name.toLowerCase().replaceAll(/_(\w)/g, (_, letter: string) => letter.toUpperCase())

/** `X_FILE` names a file that holds the value of `X`, as container platforms hand out secrets. */
const readValueFile = (name: string, path: string) => {
  // The secret itself may stand there by mistake, so only what looks like a path is repeated.
  const file = /^\.{0,2}\//.test(path) ? `the file ${path}` : `the file that ${name}_FILE names`
  const content = () => {
    try {
      return readFileSync(path, 'utf8').trim()
    } catch (error) {
      throw new InvalidValue(`${file} cannot be read (${whyUnreadable(error)})`)
    }
  }
  const value = content()
  if (value === '') throw new InvalidValue(`${file} is empty`)
  return value
}

/** The value that was set, without white space around it; undefined if nothing is left. */
const givenValue = (name: string, env: Environment) => {
  const path = env[`${name}_FILE`]
  const value = env[name]?.trim()
  if (path && value) throw new InvalidValue(`is set twice: as ${name} and as ${name}_FILE`)
  return path ? readValueFile(name, path) : value || undefined
}

/** The value of a setting on which others depend; undefined if it cannot be read. Its fault is reported when it is read itself. */
const valueIfReadable = (name: string, env: Environment) => {
  try {
    return givenValue(name, env)
  } catch {
    return undefined
  }
}

/** The table of settings, with those of the providers that PROVIDERS names. */
const settingTableFor = (env: Environment): Readonly<Record<string, Setting>> => {
  const names = list(text)(valueIfReadable('PROVIDERS', env) ?? '')
  return { ...settingTable, ...furtherProviderSettings(furtherProviders(names)) }
}

const isPlainElsewhere = (address: unknown) =>
  typeof address === 'string' && address.startsWith('http:') && !isThisMachine(new URL(address).hostname)

/** Nobody gets an empty database because the name of the setting for the full one was misspelt, or only its owner is named. */
const missingDatabaseFaults = (env: Environment, absent: ReadonlySet<string>) => {
  if (!absent.has('DATABASE_URL'))
    return absent.has('JWT_SECRET') ? ['JWT_SECRET: must be set in production with DATABASE_URL'] : []
  const meant = likelyTypos(env).filter((typo) => /did you mean DATABASE_URL\?$/i.test(typo))
  return [
    ...meant.map((typo) => `DATABASE_URL: is not set, and ${typo}`),
    ...(absent.has('DATABASE_OWNER_URL')
      ? []
      : ['DATABASE_OWNER_URL: needs DATABASE_URL, or the service would use a new database of its own']),
  ]
}

const productionFaults = (env: Environment, absent: ReadonlySet<string>, values: Readonly<Record<string, unknown>>) => {
  const missing = requiredInProduction.filter((name) => absent.has(name))
  const faults = missing.map((name) => `${name}: must be set in production`)
  faults.push(...missingDatabaseFaults(env, absent))
  const { PUBLIC_URL: publicUrl } = values
  if (typeof publicUrl === 'string' && !publicUrl.startsWith('https:'))
    faults.push('PUBLIC_URL: must begin with https:// in production')
  if (!absent.has('SEED_FILE'))
    faults.push(
      'SEED_FILE: is for development, and must not be set in production: its secrets and its password are in a file',
    )
  for (const name of ['ACCESS_TOKEN_LIFETIME', 'REFRESH_TOKEN_LIFETIME'])
    if (!absent.has(name)) faults.push(`${name}: is for tests, and must not be set in production`)
  // The client secret and the profiles of users go there.
  const plainSettings = providerAddressSettings(furtherProviders(values.PROVIDERS)).filter((name) =>
    isPlainElsewhere(values[name]),
  )
  return [...faults, ...plainSettings.map((name) => `${name}: must begin with https:// in production`)]
}

/** Several processes share only what is outside of them: not the mailbox and the development providers. */
const severalProcessesFaults = ({ nodeEnv, port }: Record<string, unknown>) => {
  if (nodeEnv === 'development') return ['WORKERS: more than 1 needs NODE_ENV=production']
  return port === 0 ? ['PORT: must not be 0 when WORKERS is more than 1'] : []
}

/** Outside production cookies are not `Secure`, and anyone who reaches the service can read the development mailbox. */
const developmentFaults = ({ host, publicUrl, developmentOnNetwork }: Record<string, unknown>) => {
  const elsewhere = [
    ...(typeof host === 'string' && !isThisMachine(host) ? ['HOST'] : []),
    ...(typeof publicUrl === 'string' && !isThisMachine(new URL(publicUrl).hostname) ? ['PUBLIC_URL'] : []),
  ]
  if (elsewhere.length === 0 || developmentOnNetwork === 'true') return []
  return [
    `${elsewhere.join(' and ')}: must be this machine (127.0.0.1, localhost) outside production: set NODE_ENV=production, or DEVELOPMENT_ON_NETWORK=true to try it out in a network that you trust`,
  ]
}

/** What cannot work without a mail server in production. Without the setting, registration is closed there. */
const mailFaults = (absent: ReadonlySet<string>, { REGISTRATION, MAIL_SIGN_IN }: Readonly<Record<string, unknown>>) => {
  if (!absent.has('SMTP_URL'))
    return absent.has('MAIL_FROM') ? ['MAIL_FROM: must be set in production with SMTP_URL'] : []
  return [
    ...(!absent.has('REGISTRATION') && REGISTRATION !== undefined && REGISTRATION !== 'closed'
      ? ['REGISTRATION: must be closed in production without SMTP_URL, because new addresses are confirmed by mail']
      : []),
    ...(MAIL_SIGN_IN === 'on' ? ['MAIL_SIGN_IN: must be off in production without SMTP_URL'] : []),
  ]
}

const adminGroupFaults = ({ adminGroup, supportGroup }: Record<string, unknown>) => {
  if (supportGroup === undefined) return []
  if (adminGroup === null) return ['SUPPORT_GROUP: needs ADMIN_GROUP, which is empty']
  return adminGroup === supportGroup ? ['SUPPORT_GROUP: must be another group than ADMIN_GROUP'] : []
}

/** A warning for each environment variable, and each file in the folders of secrets, that looks like a misspelt setting. */
export const likelyTypos = (env: Environment) => findTypos(env, Object.keys(settingTableFor(env)))

/** The names among these that are no settings. */
export const unknownSettings = (env: Environment) => {
  const known = new Set(Object.keys(settingTableFor(env)).flatMap((name) => [name, `${name}_FILE`]))
  return Object.keys(env).filter((name) => !known.has(name))
}

/** A secret that is missing may be in a folder that is not read, or under another name. */
const withFolderHint = (fault: string, env: Environment, absent: ReadonlySet<string>) => {
  const [name = ''] = fault.split(':')
  const folders = secretsFoldersOf(env)
  const isSecret = absent.has(name) && settingTableFor(env)[name]?.secret
  return isSecret && folders.length > 0
    ? `${fault}; there is no file ${name.toLowerCase()} in ${folders.join(' or ')}`
    : fault
}

const readValues = (env: Environment, wanted?: readonly string[]) => {
  const table = settingTableFor(env)
  const values: Record<string, unknown> = {}
  const faults: string[] = []
  const absent = new Set<string>()
  const givenSettings: Record<string, string> = {}
  for (const name of wanted ?? Object.keys(table)) {
    try {
      const setting = table[name]
      if (!setting) throw new Error(`There is no setting ${name}`)
      const given = givenValue(name, env) ?? (setting.takesEmpty && env[name]?.trim() === '' ? '' : undefined)
      if (given === undefined) absent.add(name)
      else givenSettings[name] = given
      const text = given ?? setting.fallback
      values[name] = text === undefined ? undefined : setting.read(text)
    } catch (error) {
      if (!(error instanceof InvalidValue)) throw error
      faults.push(`${name}: ${error.message}`)
    }
  }
  return { values, faults, absent, givenSettings }
}

/** The values by the names that the program uses. The settings of providers are left out: `providers` has them. */
const inCamelCase = (values: Readonly<Record<string, unknown>>) =>
  Object.fromEntries(
    Object.entries(values)
      .filter(([name]) => !isProviderSetting(name))
      .map(([name, value]) => [camelCase(name), value]),
  )

/** Loads only the settings that a command needs. The others may be missing or wrong. */
export const loadSettings = <Wanted extends Name>(env: Environment, wanted: readonly Wanted[]) => {
  const { values, faults } = readValues(env, wanted)
  const configValues = inCamelCase(values)
  if (configValues.nodeEnv === 'production') faults.push(...unprotectedFaults(configValues))
  if (faults.length > 0) throw new ConfigurationFaults(faults, likelyTypos(env))
  return Object.freeze(configValues) as Pick<Values, CamelCase<Wanted>>
}

/** The files that hold the values of secret settings. */
export const secretFilesIn = (env: Environment) =>
  Object.entries(settingTableFor(env)).flatMap(([name, { secret }]) => (secret && env[`${name}_FILE`]) || [])

/** Every setting that is given and that the table marks as secret. */
export const secretsIn = (env: Environment) =>
  Object.entries(settingTableFor(env)).flatMap(([name, { secret }]) => {
    const value = secret ? givenValue(name, env) : undefined
    return value === undefined ? [] : [{ name, value }]
  })

/**
 * Reads the environment into one frozen object, or throws everything that is wrong with it. `givenSettings` has what was set, and the
 * contents of files instead of their paths: read again, it gives the same settings, whatever has happened to the files.
 */
export const readConfig = (env: Environment): { config: Config; givenSettings: Environment } => {
  const { values, faults, absent, givenSettings } = readValues(env)
  faults.push(...providerFaults(values, absent))
  const configValues = inCamelCase(values)
  if (configValues.port && configValues.port === configValues.metricsPort)
    faults.push('PORT and METRICS_PORT: must be two different ports')
  if (Number(configValues.workers) > 1) faults.push(...severalProcessesFaults(configValues))
  const production = configValues.nodeEnv === 'production'
  faults.push(
    ...(production
      ? [...productionFaults(env, absent, values), ...mailFaults(absent, values), ...unprotectedFaults(configValues)]
      : developmentFaults(configValues)),
  )
  if (absent.has('PUBLIC_URL') || configValues.publicUrl !== undefined) faults.push(...siblingFaults(configValues))
  faults.push(...webhookFaults(configValues, absent), ...adminGroupFaults(configValues))
  for (const [name, needed, why] of settingsThatNeedOthers)
    if (values[name] !== undefined && absent.has(needed)) faults.push(`${name}: needs ${needed}, ${why}`)
  if (faults.length > 0)
    throw new ConfigurationFaults(
      faults.map((fault) => withFolderHint(fault, env, absent)),
      likelyTypos(env),
    )
  const publicUrl = configValues.publicUrl ?? `http://localhost:${String(configValues.port)}`
  const { accessTokenLifetime: accessToken, refreshTokenLifetime: refreshToken, sessionMaxAge: session } = configValues
  const lifetimes = { accessToken, refreshToken, session }
  const mailIsOff = production && absent.has('SMTP_URL')
  const config = Object.freeze({
    ...configValues,
    ...(mailIsOff && { registration: 'closed' }),
    production,
    mailIsOff,
    settingsOfEnvironment: liveSettingNames.filter((name) => !absent.has(settingProperties[name].variable)),
    publicUrl,
    ownDatabase: configValues.databaseUrl === undefined,
    lifetimes,
    providers: providerConfigs(values),
  }) as unknown as Config
  return { config, givenSettings }
}

/** The environment for a process in another working directory: with absolute paths, and the port that was chosen for 0. */
export const settingsElsewhere = (givenSettings: Environment, { port }: Config): Environment => ({
  ...Object.fromEntries(
    Object.entries(givenSettings).map(([name, value]) => [
      name,
      value && settingTable[name]?.read === filePath ? resolve(value) : value,
    ]),
  ),
  PORT: String(port),
})

export const loadConfig = (env: Environment) => readConfig(env).config

/** The process's environment, what it lacks from a `.env` file in the working directory, then from the folder of secrets. */
export const readEnvironment = (
  path = '.env',
  env: Environment = process.env,
): { environment: Environment; envFileRemarks: readonly string[] } => {
  const file = readEnvFile(path)
  const known = { ...withoutPrefixes(file.values), ...env }
  const table = settingTableFor(known)
  const fromFile = takeFromEnvFile(file.values, {
    isProduction: valueIfReadable('NODE_ENV', known) === 'production',
    settingOf: (name) => table[name] ?? table[name.replace(/_FILE$/, '')],
  })
  const set = { ...fromFile.settings, ...env }
  const secrets = readSecretsFolders(set)
  const faults = [...file.faults, ...secrets.faults]
  if (faults.length > 0) throw new ConfigurationFaults(faults)
  return {
    // Names that are no settings change nothing. They are kept so that `likelyTypos` finds a misspelt one.
    environment: { ...fromFile.unknown, ...set, ...secrets.values },
    envFileRemarks: describeEnvFile(path, file.values, fromFile, env),
  }
}
