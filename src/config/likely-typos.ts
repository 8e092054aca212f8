import { editDistance } from './edit-distance.js'
import { isSettingName, secretFilesOf } from './secrets-folder.js'

type Environment = Readonly<Record<string, string | undefined>>

/** The lengths are compared first because there are thousands of pairs. */
const isNear = (given: string, name: string) => {
  const most = name.length > 6 ? 2 : 0
  return Math.abs(given.length - name.length) <= most && editDistance(given, name) <= most
}

/** The setting that was meant, and the provider that PROVIDERS would have to name for it. */
const meantBy = (given: string, names: readonly string[]) => {
  const near = names.find((each) => isNear(given, each))
  const [, unnamed] = /^PROVIDER_([A-Z][A-Z0-9]+)_[A-Z_]+$/.exec(given) ?? []
  return { near, unnamed: near === undefined ? unnamed?.toLowerCase() : undefined }
}

const variableTypo = (name: string, names: readonly string[]) => {
  const { near, unnamed } = meantBy(name.replace(/^LATCHKEY_/, '').replace(/_FILE$/, ''), names)
  if (unnamed) return [`${name} is not used: PROVIDERS does not name ${unnamed}`]
  if (near) return [`${name} is not a setting; did you mean ${near}?`]
  return name.startsWith('LATCHKEY_') ? [`${name} is not a setting`] : []
}

/** Of names that are never read, such as `jwt_secret.txt` or `jwt_secret~`, only those whose setting is missing: others are copies. */
const fileTypo = (name: string, path: string, names: readonly string[], env: Environment) => {
  const bare = name.replace(/\.[a-z]+$/i, '').replaceAll('-', '_')
  const { near, unnamed } = meantBy(bare.toUpperCase(), names)
  if (unnamed) return [`the file ${path} is not used: PROVIDERS does not name ${unnamed}`]
  if (!near || (!isSettingName(name) && (env[near]?.trim() || env[`${near}_FILE`]))) return []
  return [`the file ${path} is not read: its name is not a setting; did you mean ${near.toLowerCase()}?`]
}

/** Environment variables, and files in the folders of secrets, that look like one of these settings and are none. */
export const findTypos = (env: Environment, names: readonly string[]) => {
  const known = new Set<string>(names.flatMap((name) => [name, `${name}_FILE`]))
  const files = secretFilesOf(env).map((file) => ({ ...file, variable: `${file.name.toUpperCase()}_FILE` }))
  const isFile = (variable: string) => files.some((file) => file.variable === variable && file.path === env[variable])
  return [
    ...Object.keys(env)
      .filter((name) => !known.has(name) && !isFile(name))
      .flatMap((name) => variableTypo(name, names)),
    ...files
      .filter(({ variable }) => !known.has(variable))
      .flatMap(({ name, path }) => fileTypo(name, path, names, env)),
  ]
}
