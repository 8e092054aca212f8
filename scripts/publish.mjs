import { randomUUID } from 'node:crypto'
import { mkdir, readdir, readFile, rename, rm, rmdir, writeFile } from 'node:fs/promises'
import { dirname, join, relative } from 'node:path'

/**
 * Makes `folder` contain exactly `files`, and of the other files those for which `isKept` is true. Files that are up to date are not
 * written, and each change is a rename. So two builds may run at once, or beside a running service, or on a read-only folder that is up
 * to date.
 * @param {{ folder: string, files: Map<string, Uint8Array>, isKept?: (path: string) => boolean }} wanted
 * @returns {Promise<number>} how many files changed
 */
export const publish = async ({ folder, files, isKept = () => false }) => {
  let changes = 0
  for (const [path, contents] of files) {
    if (await replace(join(folder, path), contents)) changes += 1
  }
  for (const path of await filesBelow(folder)) {
    // A draft belongs to another build that is running.
    if (files.has(path) || isKept(path) || path.endsWith('.draft')) continue
    await rm(join(folder, path), { force: true })
    await removeEmptyParents(folder, path)
    changes += 1
  }
  return changes
}

/**
 * @param {string} folder
 * @returns {Promise<string[]>} paths relative to the folder, with forward slashes
 */
export const filesBelow = async (folder) => {
  const entries = await readdir(folder, { withFileTypes: true, recursive: true }).catch(ifMissing([]))
  return entries
    .filter((entry) => entry.isFile())
    .map((entry) => relative(folder, join(entry.parentPath, entry.name)).replaceAll('\\', '/'))
    .sort()
}

/**
 * Writes the file if its contents differ.
 * @type {(file: string, contents: Uint8Array) => Promise<boolean>} whether the file has changed
 */
export const replace = async (file, contents) => {
  const currentContents = await readFile(file).catch(ifMissing(undefined))
  if (currentContents?.equals(contents)) return false
  const draft = `${file}.${randomUUID()}.draft`
  await mkdir(dirname(file), { recursive: true })
  await writeFile(draft, contents)
  await rename(draft, file)
  return true
}

/** @type {(folder: string, path: string) => Promise<void>} */
const removeEmptyParents = async (folder, path) => {
  for (let parent = dirname(path); parent !== '.'; parent = dirname(parent)) {
    const removed = await rmdir(join(folder, parent)).then(
      () => true,
      () => false,
    )
    if (!removed) return
  }
}

/**
 * @template T
 * @param {T} instead
 * @returns {(error: NodeJS.ErrnoException) => T}
 */
const ifMissing = (instead) => (error) => {
  if (error.code === 'ENOENT') return instead
  throw error
}
