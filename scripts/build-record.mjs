// What the last build read and wrote, so that `npm test` after `npm ci`, and every `npm start`, know that another one would
// change nothing. Contents are compared, not times. `npm run build` always builds.
import { createHash } from 'node:crypto'
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { filesBelow, replace } from './publish.mjs'

const read = ['src', 'web', 'scripts', 'migrations', 'packages']
const written = ['dist', 'packages']
// npm writes the last of these whenever it changes what is installed.
const settings = ['package.json', 'package-lock.json', 'tsconfig.json', 'node_modules/.package-lock.json']

/** @type {(path: string) => boolean} */
const isRead = (path) => !/\.test\.tsx?$|^packages\/[^/]+\/(dist|node_modules)\//.test(path)

/**
 * All but the name of the commit, which is written each time.
 * @type {(path: string) => boolean}
 */
const isWritten = (path) => /^(dist|packages\/[^/]+\/dist)\//.test(path) && path !== 'dist/build.json'

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

  /** What a build reads. Taken before it, so that the next build sees what changed during this one. */
  const inputs = async () => {
    const paths = (await pathsBelow(read)).filter(isRead)
    return hashOf([...paths, ...settings], home, process.version, process.platform, process.arch)
  }

  const outputs = async () => hashOf((await pathsBelow(written)).filter(isWritten))

  return {
    inputs,

    /** @param {string} before what `inputs` returned before the build */
    write: async (before) => {
      // Where nothing can be written, the next build does its work again.
      await replace(record, Buffer.from(`${before} ${await outputs()}\n`)).catch(() => false)
    },

    /** Whether the last build read what is there now, and what it wrote is still there. */
    isCurrent: async () => {
      const known = await readFile(record, 'utf8').catch(() => '')
      return known !== '' && known === `${await inputs()} ${await outputs()}\n`
    },
  }
}
