import { execFile } from 'node:child_process'
import { createHash } from 'node:crypto'
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { expect, it } from 'vitest'
import { previousRelease } from '../resilience/long/previous-release.js'
import { migrationsDirectory } from '../support/databases.js'

const home = fileURLToPath(new URL('../..', import.meta.url))
const { commit, migrations } = previousRelease
const hashOf = (text: string) => createHash('sha256').update(text).digest('hex')

/** The migrations of a commit with their hashes. Undefined in a shallow clone and in a tree without history. */
const migrationsAt = async (at: string) => {
  const git = async (...args: string[]) => (await promisify(execFile)('git', args, { cwd: home })).stdout
  const isThere = await git('cat-file', '-e', `${at}^{commit}`).then(
    () => true,
    () => false,
  )
  if (!isThere) return undefined
  const paths = (await git('ls-tree', '--name-only', at, 'migrations/')).trim().split('\n')
  const texts = await Promise.all(paths.map((path) => git('show', `${at}:${path}`)))
  return Object.fromEntries(paths.map((path, index) => [path.replace('migrations/', ''), hashOf(texts[index] ?? '')]))
}

it('keeps every migration of the previous release as it is', async () => {
  const hashes = Object.keys(migrations).map(async (name) => {
    const text = await readFile(join(migrationsDirectory, name), 'utf8').catch(() => 'no file')
    return [name, hashOf(text.replaceAll('\r\n', '\n'))]
  })
  const advice = `A migration of the previous release (${commit}) was changed, renamed or removed: databases that have it
applied would be refused. Put it back as it was, and write the change into a new migration.`
  expect(Object.fromEntries(await Promise.all(hashes)), advice).toEqual(migrations)
})

it('knows the migrations of the previous release by their hashes', async () => {
  const advice = `The hashes in test/resilience/long/previous-release.ts are not those of the migrations of its commit.`
  expect((await migrationsAt(commit)) ?? migrations, advice).toEqual(migrations)
})
