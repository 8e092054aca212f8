import { readdirSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { whyUnreadable } from '../lib/operator-error.js'

type Environment = Readonly<Record<string, string | undefined>>

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
