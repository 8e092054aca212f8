import { readdirSync, readFileSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { parseEnv } from 'node:util'
import { whyUnreadable } from '../lib/operator-error.js'
import type { Setting } from './setting-values.js'

/** Before a name in a `.env` file it says that the line is for Latchkey. */
export const envFilePrefix = 'LATCHKEY_'

const assignmentStart = /^\s*(?:export\s+)?[A-Za-z_][\w.]*\s*=\s*(["'`]?)/

/**
 * Node's parser skips a line that it does not understand, so such lines are found here. A fault never repeats its line, which may
 * hold a secret.
 */
const faultsIn = (text: string, path: string) => {
  const lines = text.split('\n')
  const faults: string[] = []
  for (let at = 0; at < lines.length; at += 1) {
    const line = lines[at] ?? ''
    if (/^\s*(#|$)/.test(line)) continue
    const [start, quote] = assignmentStart.exec(line) ?? []
    if (start === undefined) faults.push(`${path}, line ${at + 1}: must be of the form NAME=value`)
    // A quoted value may have several lines.
    else if (quote && !line.slice(start.length).includes(quote)) {
      const end = lines.findIndex((each, place) => place > at && each.includes(quote))
      if (end < 0) faults.push(`${path}, line ${at + 1}: the ${quote} before the value is never closed`)
      else at = end
    }
  }
  return faults
}

const isThere = (path: string) => {
  try {
    return statSync(path) !== undefined
  } catch {
    return false
  }
}

/** The settings in a file, and its faults. A file that does not exist has no settings and no faults. */
export const readEnvFile = (path: string): { values: NodeJS.Dict<string>; faults: string[] } => {
  if (!isThere(path)) return { values: {}, faults: [] }
  try {
    const text = readFileSync(path, 'utf8')
    return { values: parseEnv(text), faults: faultsIn(text, path) }
  } catch (error) {
    return { values: {}, faults: [`${path}: the file cannot be read (${whyUnreadable(error)})`] }
  }
}

type Environment = Readonly<Record<string, string | undefined>>

const withoutPrefix = (line: string) => (line.startsWith(envFilePrefix) ? line.slice(envFilePrefix.length) : line)

/** The lines by the names of settings, before it is known which names are settings: PROVIDERS names some of them. */
export const withoutPrefixes = (lines: Environment): Environment => ({
  ...lines,
  ...Object.fromEntries(
    Object.entries(lines)
      .filter(([line]) => line.startsWith(envFilePrefix))
      .map(([line, value]) => [withoutPrefix(line), value]),
  ),
})

/**
 * Takes the settings from the lines of a `.env` file. Outside production a common name without the prefix is left to the application in
 * whose folder the file may be: with its JWT_SECRET its tokens and ours would verify alike, its SMTP_URL would carry our mails to people.
 */
export const takeFromEnvFile = (
  lines: Environment,
  { isProduction, settingOf }: { isProduction: boolean; settingOf: (name: string) => Setting | undefined },
) => {
  const settings: Record<string, string | undefined> = {}
  const leftOut: string[] = []
  const unknown: Record<string, string | undefined> = {}
  for (const [line, value] of Object.entries(lines)) {
    const name = settingOf(line) ? line : withoutPrefix(line)
    const setting = settingOf(name)
    if (!setting) unknown[line] = value
    else if (line !== name) settings[name] = value
    else if (`${envFilePrefix}${name}` in lines) continue
    else if (setting.commonName && !isProduction) leftOut.push(name)
    else settings[name] = value
  }
  return { settings, leftOut, unknown }
}

/** What the start says about the file. Lines without a value, and settings that have one from elsewhere, need no word. */
export const describeEnvFile = (
  path: string,
  lines: Environment,
  { settings, leftOut }: Pick<ReturnType<typeof takeFromEnvFile>, 'settings' | 'leftOut'>,
  env: Environment,
): string[] => {
  const prefixed = (name: string) => `${envFilePrefix}${name}`
  const counts = (name: string, value: string | undefined) => Boolean(value?.trim()) && env[name] === undefined
  const taken = Object.keys(settings)
    .filter((name) => counts(name, settings[name]))
    .map((name) => (prefixed(name) in lines ? prefixed(name) : name))
    .sort()
  const left = leftOut.filter((name) => counts(name, lines[name])).sort()
  return [
    ...(taken.length > 0 ? [`taken from ${path}: ${taken.join(', ')}`] : []),
    ...(left.length > 0
      ? [
          `not taken from ${path}, because other programs use these names too: ${left.join(', ')}. For Latchkey write ${left.map(prefixed).join(', ')}`,
        ]
      : []),
  ]
}

/** `CREDENTIALS_DIRECTORY` is what systemd sets for a unit with `LoadCredential=`. */
const folderSettings = ['SECRETS_DIR', 'CREDENTIALS_DIRECTORY'] as const

/**
 * Whether a file name is in small letters, or in capitals as environment variables are. Files with other names are ignored, such as
 * `..data` of Kubernetes or `jwt_secret~` of an editor.
 */
export const isSpelledLikeSetting = (name: string) => /^(?:[a-z][a-z0-9_]*|[A-Z][A-Z0-9_]*)$/.test(name)

const isFile = (path: string) => statSync(path, { throwIfNoEntry: false })?.isFile() ?? false

const allFilesIn = (folder: string) =>
  readdirSync(folder)
    .map((name) => ({ name, path: join(folder, name) }))
    .filter(({ path }) => isFile(path))

const settingFilesIn = (folder: string) =>
  allFilesIn(folder)
    .filter(({ name }) => isSpelledLikeSetting(name))
    .map(({ name, path }) => ({ setting: name.toUpperCase(), path }))

/** The folders from which secrets are read. */
export const secretsFoldersOf = (env: Environment) => folderSettings.flatMap((name) => env[name]?.trim() || [])

/** All files of these folders, whatever their names. A folder that cannot be read has none: `readSecretsFolders` reports it. */
export const filesInSecretsFolders = (env: Environment) =>
  secretsFoldersOf(env).flatMap((folder) => {
    try {
      return allFilesIn(folder)
    } catch {
      return []
    }
  })

/** The settings that have two files: `jwt_secret` and `JWT_SECRET`. */
const repeatedSettingsIn = (files: ReturnType<typeof settingFilesIn>) =>
  files.map(({ setting }) => setting).filter((setting, at, all) => all.indexOf(setting) !== at)

/**
 * Makes a setting of each file in a folder of secrets: the path of `jwt_secret` becomes `JWT_SECRET_FILE`. A setting that has a value
 * from elsewhere keeps it.
 */
export const readSecretsFolders = (env: Environment): { values: Record<string, string>; faults: string[] } => {
  const values: Record<string, string> = {}
  const faults: string[] = []
  for (const name of folderSettings) {
    const folder = env[name]?.trim()
    if (!folder) continue
    try {
      const files = settingFilesIn(folder)
      for (const setting of repeatedSettingsIn(files)) faults.push(`${name}: the folder has two files for ${setting}`)
      for (const { setting, path } of files)
        if (!env[setting]?.trim() && !env[`${setting}_FILE`]) values[`${setting}_FILE`] = path
    } catch (error) {
      faults.push(`${name}: the folder cannot be read: ${folder} (${whyUnreadable(error)})`)
    }
  }
  return { values, faults }
}

const placeholders = /secret|password|change|example|your|replace|sample|default|latchkey|qwerty|0123456789|abcdefgh/gi

const minLength = 64

/**
 * Whether the value is several generated secrets with a semicolon or white space between them instead of a comma. They would be used
 * as one long secret, and tokens signed with one of them would be refused. A secret of words with spaces is still allowed.
 */
const isSeveralInOne = (secret: string) => {
  const parts = secret.split(/[;\s]+/).filter((part) => part !== '')
  return parts.length > 1 && parts.every((part) => part.length >= minLength && /^[\w+/=-]+$/.test(part))
}

/** Why a signing secret must not be used, or undefined. */
export const weaknessOfSecret = (secret: string) => {
  if (secret.length < minLength) return `must have at least ${minLength} characters`
  if (isSeveralInOne(secret)) return 'must have a comma between secrets, and not a semicolon, a space or a line break'
  const rest = secret.replaceAll(placeholders, '')
  const repeatsItself = [2, 3, 4, 5, 6, 8].some((parts) =>
    secret
      .slice(0, Math.floor(secret.length / parts))
      .repeat(parts + 1)
      .startsWith(secret),
  )
  if (rest.length < 40 || repeatsItself || new Set(rest).size < 12)
    return 'must be random: make one with `openssl rand -hex 48`'
  return undefined
}
