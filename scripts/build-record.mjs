// Records what the last build read and wrote, so that `npm test` after `npm ci`, and every `npm start`, know that another build would
// change nothing. Contents are compared, not times. `npm run build` always builds.
import { createHash } from 'node:crypto'
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { filesBelow, replace } from './publish.mjs'

const inputFolders = ['src', 'web', 'scripts', 'migrations', 'packages']
const outputFolders = ['dist', 'packages']
// npm writes the last of these files whenever it changes the installed packages.
const inputFiles = ['package.json', 'package-lock.json', 'tsconfig.json', 'node_modules/.package-lock.json']

/** @type {(path: string) => boolean} */
const isInput = (path) => !/\.test\.tsx?$|^packages\/[^/]+\/(dist|node_modules)\//.test(path)

/**
 * All files in dist/ but the name of the commit, which is written each time.
 * @type {(path: string) => boolean}
 */
const isOutput = (path) => /^(dist|packages\/[^/]+\/dist)\//.test(path) && path !== 'dist/build.json'

/** @param {string} home the folder of the project */
export const createBuildRecord = (home) => {
  const record = join(home, 'node_modules/.cache/latchkey-build')

  /** @type {(folders: string[]) => Promise<string[]>} */
  const pathsBelow = async (folders) => {
    const found = folders.map(async (folder) =>
      (await filesBelow(join(home, folder))).map((path) => `${folder}/${path}`),
    )
    return (await Promise.all(found)).flat()
  }

  /** @type {(paths: string[], ...more: string[]) => Promise<string>} */
  const hashOf = async (paths, ...more) => {
    const hash = createHash('sha256').update(more.join('\n'))
    for (const path of paths) {
      const content = await readFile(join(home, path)).catch(() => Buffer.from('missing'))
      hash.update(`\n${path} ${content.length}\n`).update(content)
    }
    return hash.digest('hex')
  }

  /** A hash of what a build reads. It is taken before the build, so that the next build sees what changed during this one. */
  const hashInputs = async () => {
    const paths = (await pathsBelow(inputFolders)).filter(isInput)
    return hashOf([...paths, ...inputFiles], home, process.version, process.platform, process.arch)
  }

  const hashOutputs = async () => hashOf((await pathsBelow(outputFolders)).filter(isOutput))

  return {
    hashInputs,

    /** @param {string} inputHash what `hashInputs` returned before the build */
    write: async (inputHash) => {
      // If the record cannot be written, the next build does its work again.
      await replace(record, Buffer.from(`${inputHash} ${await hashOutputs()}\n`)).catch(() => false)
    },

    /** Whether the last build read what is there now, and what it wrote is still there. */
    isCurrent: async () => {
      const recorded = await readFile(record, 'utf8').catch(() => '')
      return recorded !== '' && recorded === `${await hashInputs()} ${await hashOutputs()}\n`
    },
  }
}
