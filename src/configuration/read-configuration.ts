import { basename, dirname, resolve } from 'node:path'
import { Check } from 'typebox/schema'
import { readIcon } from '../applications/icon-file.js'
import {
  type ApplicationShape,
  configurationSchema,
  isLiveSetting,
  type KindName,
  kindNames,
  type SecretSource,
  secretPattern,
  settingProperties,
} from '../contract/configuration.js'
import type { ConfigurationFileName } from '../http/request-origin.js'
import { OperatorError } from '../lib/operator-error.js'
import { fingerprint } from '../lib/random.js'
import { nameKey } from '../lib/text.js'
import { nearestName } from '../settings/likely-typos.js'
import type { LiveSettingsReader } from '../settings/live-settings.js'
import { readLiveSetting } from '../settings/live-settings.js'
import { ConfigurationFault, faultIn } from './configuration-fault.js'
import { type Found, longestSecretFile, readDocument, readFileOnce, readWhole } from './document.js'

/** One thing that a file names. `shape` is what the file says about it, without its secrets and its icon. */
export type Wanted = {
  line: number
  shape: object
  secrets?: readonly string[]
  icon?: Buffer | null
}

/** A configuration file that was read and checked, with everything that it names in other files. */
export type Configuration = {
  file: ConfigurationFileName
  path: string
  things: Readonly<Record<KindName, ReadonlyMap<string, Wanted>>>
}

type Environment = Readonly<Record<string, string | undefined>>

type Schema = {
  type?: string
  properties?: Readonly<Record<string, Schema>>
  required?: readonly string[]
  additionalProperties?: boolean | Schema
  propertyNames?: { pattern: string; must: string }
  must?: string
}

const maxFaults = 20

const plainOf = (found: Found): unknown => {
  if (found.type === 'value') return found.value
  if (found.type === 'list') return found.items.map(plainOf)
  return Object.fromEntries([...found.entries].map(([key, { found: each }]) => [key, plainOf(each)]))
}

const placeOf = (place: string, key: string) => (place === '' ? key : `${place}.${key}`)

type Fault = { line: number; sentence: string }

const unknownKey = (key: string, place: string, known: readonly string[], line: number): Fault => {
  const meant = nearestName(key, known)
  const where = place === '' ? 'the file' : place
  const possible = known.length === 0 ? 'It has no keys: write {}' : `It can have: ${known.join(', ')}`
  const help = meant === undefined ? possible : `Did you mean ${meant}?`
  return { line, sentence: `${where} has the key ${JSON.stringify(key)}, which is not known. ${help}` }
}

/** Everything that the schema does not allow, with its line. */
const faultsOf = (found: Found, schema: Schema, place: string): Fault[] => {
  const { properties, additionalProperties, propertyNames, required = [], must = 'an object with keys' } = schema
  if (properties === undefined && typeof additionalProperties !== 'object')
    return Check(schema as object, plainOf(found))
      ? []
      : [{ line: found.line, sentence: `${place} must be ${schema.must ?? 'something else'}` }]
  if (found.type !== 'map') {
    const known = properties && Object.keys(properties)
    const help =
      known && known.length > 0 ? ` with keys such as ${known.slice(0, 3).join(', ')}` : ' ({} if it is empty)'
    return [
      {
        line: found.line,
        sentence: `${place || 'the file'} must be ${must === 'an object with keys' ? `an object${help}` : must}`,
      },
    ]
  }
  const ofEntries = [...found.entries].flatMap(([key, { keyLine, found: each }]): Fault[] => {
    // Every object has `__proto__` and `constructor`, which no schema names.
    const named = properties && Object.hasOwn(properties, key) ? properties[key] : undefined
    const of = named ?? (typeof additionalProperties === 'object' ? additionalProperties : undefined)
    if (!of) return [unknownKey(key, place, Object.keys(properties ?? {}), keyLine)]
    const isName = propertyNames === undefined || new RegExp(propertyNames.pattern, 'u').test(key)
    if (!isName)
      return [
        {
          line: keyLine,
          sentence: `${JSON.stringify(key)} cannot be a name in ${place}: it must be ${propertyNames.must}`,
        },
      ]
    return faultsOf(each, of, placeOf(place, key))
  })
  const missing = required.filter((key) => !found.entries.has(key))
  return [
    ...ofEntries,
    ...missing.map((key) => ({
      line: found.line,
      sentence: `${place} has no ${key}: it must be ${properties?.[key]?.must}`,
    })),
  ]
}

type Reading = {
  path: string
  /** Other files are named relative to it. */
  folder: string
  environment: Environment
  liveSettings: Pick<LiveSettingsReader, 'isFixed'>
}

/** `as`: who owns what the file names, if it is not the name of the file. `bytes`: what came through a pipe. */
export type GivenFile = { path: string; as?: string | undefined; bytes?: Buffer | undefined }

/** The secret that a source names. No sentence repeats it. */
const readSecret = async (source: SecretSource, place: string, line: number, reading: Reading) => {
  const { path, folder, environment } = reading
  const isFile = 'file' in source
  const from = isFile ? `the file ${source.file}` : `the variable ${source.env}`
  const file = isFile
    ? await readFileOnce(resolve(folder, source.file), longestSecretFile)
    : { bytes: Buffer.from(environment[source.env] ?? '') }
  if ('fault' in file) throw faultIn(path, `${place}: ${from} ${file.fault}`, line)
  if (!isFile && file.bytes.length === 0) throw faultIn(path, `${place}: ${from} is not set`, line)
  const text = file.bytes.toString('utf8').replace(/\r?\n$/, '')
  if (!new RegExp(secretPattern).test(text))
    throw faultIn(path, `${place}: ${from} must have 32 to 128 letters, digits, hyphens and underscores`, line)
  return text
}

const wantedApplication = async (found: Found, name: string, reading: Reading): Promise<Wanted> => {
  const { path, folder } = reading
  const { secret, icon, noDevice, ...said } = plainOf(found) as ApplicationShape
  const { line } = found
  const place = `applications.${name}`
  if (noDevice && said.device !== undefined)
    throw faultIn(path, `${place} has device and noDevice: take one of them away`, line)
  const shape = noDevice ? { ...said, device: false } : said
  const lineOf = (key: string) => (found.type === 'map' ? found.entries.get(key)?.keyLine : undefined) ?? line
  const secretLine = lineOf('secret')
  const sources = [secret ?? []].flat()
  const secrets = await Promise.all(sources.map((each) => readSecret(each, place, secretLine, reading)))
  if (new Set(secrets).size < secrets.length) throw faultIn(path, `${place}: its two secrets are the same`, secretLine)
  const iconPath = icon === undefined || icon === 'none' ? icon : resolve(folder, icon)
  const png = await readIcon(iconPath).catch((error: unknown) => {
    throw error instanceof OperatorError ? faultIn(path, `${place}: ${error.message}`, lineOf('icon')) : error
  })
  return { line, shape, ...(secret && { secrets }), ...(png !== undefined && { icon: png }) }
}

const wantedSetting = async (found: Found, name: string, { path, liveSettings }: Reading): Promise<Wanted> => {
  const { line } = found
  if (!isLiveSetting(name)) throw new Error(`The schema has let the setting ${name} pass`)
  const { variable, must } = settingProperties[name]
  if (liveSettings.isFixed(name))
    throw faultIn(path, `settings.${name} is set by ${variable}, so it cannot be here: take one of them away`, line)
  const read = readLiveSetting(name, plainOf(found))
  if (!read) throw faultIn(path, `settings.${name} must be ${must}`, line)
  return { line, shape: { value: read.value } }
}

/** What a file wants of each thing of a kind. */
const readers: Readonly<Record<KindName, (found: Found, name: string, reading: Reading) => Promise<Wanted>>> = {
  groups: async ({ line }) => ({ line, shape: {} }),
  applications: wantedApplication,
  resources: async (found) => ({ line: found.line, shape: plainOf(found) as object }),
  settings: wantedSetting,
}

const entriesOf = (found: Found, key: string): ReadonlyMap<string, { keyLine: number; found: Found }> => {
  const entry = found.type === 'map' ? found.entries.get(key)?.found : undefined
  return entry?.type === 'map' ? entry.entries : new Map()
}

const sameName = 'small and large letters are the same, in every form of Unicode'

/** Reads a configuration file and everything that it names, once. What it says is applied from memory. */
export const readConfiguration = async (
  { path, as, bytes: given }: GivenFile,
  context: Omit<Reading, 'path' | 'folder'>,
): Promise<Configuration> => {
  const bytes = given ?? (await readWhole(path))
  const document = readDocument(path, bytes)
  const faults = faultsOf(document, configurationSchema(), '')
  if (faults.length > 0) {
    const lines = faults.slice(0, maxFaults).map(({ line, sentence }) => faultIn(path, sentence, line).message)
    throw new ConfigurationFault(lines.join('\n'))
  }
  if (document.type === 'map' && !kindNames.some((kind) => document.entries.has(kind)))
    throw faultIn(path, 'the file is empty: write `applications: {}` if nothing shall be in it')
  const reading = { ...context, path, folder: given ? '.' : dirname(path) }
  const read = async (kind: KindName) => {
    const wanted = new Map<string, Wanted>()
    const spellings = new Map<string, string>()
    for (const [name, { found, keyLine }] of entriesOf(document, kind)) {
      const other = spellings.get(nameKey(name))
      if (other !== undefined)
        throw faultIn(path, `${kind}.${name} has the same name as ${kind}.${other}: ${sameName}`, keyLine)
      spellings.set(nameKey(name), name)
      wanted.set(name, await readers[kind](found, name, reading))
    }
    return [kind, wanted] as const
  }
  const things = Object.fromEntries(await Promise.all(kindNames.map(read))) as unknown as Configuration['things']
  const checksum = fingerprint(bytes).toString('hex').slice(0, 16)
  return { path, file: { name: as ?? basename(path), checksum }, things }
}
