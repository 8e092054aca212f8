import { existsSync, readFileSync } from 'node:fs'
import { builtFile, home } from '../lib/home.js'

export type ProgramBuild = { version: string; commit: string | undefined }

const readJson = (file: URL): unknown => JSON.parse(readFileSync(file, 'utf8'))

let cachedBuild: ProgramBuild | undefined

/**
 * The version of this program, from its own package.json, and the commit from which it was built, if the build knew it. They are read
 * once, because the files may be replaced by a new version while the service runs.
 */
export const programBuild = (): ProgramBuild => {
  if (!cachedBuild) {
    const { version } = readJson(new URL('package.json', home)) as { version: string }
    const file = builtFile('build.json')
    const { commit } = (existsSync(file) ? readJson(file) : {}) as { commit?: string }
    cachedBuild = { version, commit }
  }
  return cachedBuild
}

/** The version and the commit, such as `0.1.0+dd4984d948f8`, or only `0.1.0` if the commit is not known. */
export const programVersion = (): string => {
  const { version, commit } = programBuild()
  return commit === undefined ? version : `${version}+${commit}`
}
