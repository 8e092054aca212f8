import { readdirSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { whyUnreadable } from '../lib/file-faults.js'

type Environment = Readonly<Record<string, string | undefined>>

/** `CREDENTIALS_DIRECTORY` is what systemd sets for a unit with `LoadCredential=`. */
const folderSettings = ['SECRETS_DIR', 'CREDENTIALS_DIRECTORY'] as const

/** Large letters too, as environment variables are written. Other names are not secrets: `..data` of Kubernetes, `jwt_secret~` of an editor. */
export const isSettingName = (name: string) => /^(?:[a-z][a-z0-9_]*|[A-Z][A-Z0-9_]*)$/.test(name)

const isFile = (path: string) => statSync(path, { throwIfNoEntry: false })?.isFile() ?? false

const allFilesIn = (folder: string) =>
  readdirSync(folder)
    .map((name) => ({ name, path: join(folder, name) }))
    .filter(({ path }) => isFile(path))

const filesIn = (folder: string) =>
  allFilesIn(folder)
    .filter(({ name }) => isSettingName(name))
    .map(({ name, path }) => ({ setting: name.toUpperCase(), path }))

/** The folders that are read. */
export const secretsFoldersOf = (env: Environment) => folderSettings.flatMap((name) => env[name]?.trim() || [])

/** All files of these folders, also those that are no setting. None of a folder that cannot be read, which is a fault of its own. */
export const secretFilesOf = (env: Environment) =>
  secretsFoldersOf(env).flatMap((folder) => {
    try {
      return allFilesIn(folder)
    } catch {
      return []
    }
  })

/** The settings that have two files: `jwt_secret` and `JWT_SECRET`. */
const settingsTwiceIn = (files: ReturnType<typeof filesIn>) =>
  files.map(({ setting }) => setting).filter((setting, at, all) => all.indexOf(setting) !== at)

/**
 * Each file of a folder of secrets as the setting that it is: `jwt_secret` as `JWT_SECRET_FILE`. What is set otherwise is left
 * alone.
 */
export const readSecretsFolders = (env: Environment): { values: Record<string, string>; faults: string[] } => {
  const values: Record<string, string> = {}
  const faults: string[] = []
  for (const name of folderSettings) {
    const folder = env[name]?.trim()
    if (!folder) continue
    try {
      const files = filesIn(folder)
      for (const setting of settingsTwiceIn(files)) faults.push(`${name}: the folder has two files for ${setting}`)
      for (const { setting, path } of files)
        if (!env[setting]?.trim() && !env[`${setting}_FILE`]) values[`${setting}_FILE`] = path
    } catch (error) {
      faults.push(`${name}: the folder cannot be read: ${folder} (${whyUnreadable(error)})`)
    }
  }
  return { values, faults }
}
