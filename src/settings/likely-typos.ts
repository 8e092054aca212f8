import { filesInSecretsFolders, isSpelledLikeSetting } from './secrets.js'

/** How many letters must be added, removed or replaced to turn `from` into `to` (Levenshtein). */
const editDistance = (from: string, to: string) => {
  let previous = Array.from({ length: to.length + 1 }, (_, index) => index)
  for (const [row, letter] of Array.from(from).entries()) {
    const current = [row + 1]
    for (const [column, other] of Array.from(to).entries()) {
      const costOfReplacing = (previous[column] ?? 0) + (letter === other ? 0 : 1)
      current.push(Math.min(costOfReplacing, (previous[column + 1] ?? 0) + 1, (current[column] ?? 0) + 1))
    }
    previous = current
  }
  return previous.at(-1) ?? 0
}

/** The name among these that was probably meant: at most a third of its letters are others. */
export const nearestName = (given: string, names: readonly string[]) => {
  const distances = names.map((name) => ({ name, distance: editDistance(given.toLowerCase(), name.toLowerCase()) }))
  const [nearest] = distances.toSorted((one, other) => one.distance - other.distance)
  return nearest && nearest.distance <= Math.max(1, nearest.name.length / 3) ? nearest.name : undefined
}

type Environment = Readonly<Record<string, string | undefined>>

/** The lengths are compared first because there are thousands of pairs. */
const isNear = (given: string, name: string) => {
  const maxDistance = name.length > 6 ? 2 : 0
  return Math.abs(given.length - name.length) <= maxDistance && editDistance(given, name) <= maxDistance
}

/** The setting that was meant or, for `PROVIDER_X_…`, the provider X that PROVIDERS does not list. */
const findIntended = (given: string, names: readonly string[]) => {
  const similarSetting = names.find((each) => isNear(given, each))
  const [, unlistedProvider] = /^PROVIDER_([A-Z][A-Z0-9]+)_[A-Z_]+$/.exec(given) ?? []
  return {
    similarSetting,
    unlistedProvider: similarSetting === undefined ? unlistedProvider?.toLowerCase() : undefined,
  }
}

/** Settings of applications, as our guides and examples call them. */
const namesOfApplications = new Set(['ID', 'ISSUER', 'SECRET', 'SERVICE_KEY', 'URL'].map((name) => `LATCHKEY_${name}`))

const warningsOfVariable = (name: string, names: readonly string[]) => {
  if (namesOfApplications.has(name)) return []
  const { similarSetting, unlistedProvider } = findIntended(name.replace(/^LATCHKEY_/, '').replace(/_FILE$/, ''), names)
  if (unlistedProvider) return [`${name} is not used: PROVIDERS does not name ${unlistedProvider}`]
  if (similarSetting) return [`${name} is not a setting; did you mean ${similarSetting}?`]
  return name.startsWith('LATCHKEY_') ? [`${name} is not a setting`] : []
}

/**
 * A file such as `jwt_secret.txt` or `jwt_secret~` is never read. It is reported only if its setting has no value from elsewhere;
 * otherwise it is taken for a backup copy.
 */
const warningsOfFile = (name: string, path: string, names: readonly string[], env: Environment) => {
  const settingName = name.replace(/\.[a-z]+$/i, '').replaceAll('-', '_')
  const { similarSetting, unlistedProvider } = findIntended(settingName.toUpperCase(), names)
  if (unlistedProvider) return [`the file ${path} is not used: PROVIDERS does not name ${unlistedProvider}`]
  if (
    !similarSetting ||
    (!isSpelledLikeSetting(name) && (env[similarSetting]?.trim() || env[`${similarSetting}_FILE`]))
  )
    return []
  return [`the file ${path} is not read: its name is not a setting; did you mean ${similarSetting.toLowerCase()}?`]
}

/** A warning for each environment variable, and each file in the folders of secrets, whose name is nearly that of a setting. */
export const findTypos = (env: Environment, names: readonly string[]) => {
  const known = new Set<string>(names.flatMap((name) => [name, `${name}_FILE`]))
  const files = filesInSecretsFolders(env).map((file) => ({ ...file, variable: `${file.name.toUpperCase()}_FILE` }))
  const comesFromSecretsFolder = (variable: string) =>
    files.some((file) => file.variable === variable && file.path === env[variable])
  return [
    ...Object.keys(env)
      .filter((name) => !known.has(name) && !comesFromSecretsFolder(name))
      .flatMap((name) => warningsOfVariable(name, names)),
    ...files
      .filter(({ variable }) => !known.has(variable))
      .flatMap(({ name, path }) => warningsOfFile(name, path, names, env)),
  ]
}
