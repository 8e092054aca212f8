import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { afterEach, beforeEach, expect, it } from 'vitest'
import { createBuildRecord } from './build-record.mjs'

let home: string
const put = async (path: string, text: string) => {
  await mkdir(dirname(join(home, path)), { recursive: true })
  await writeFile(join(home, path), text)
}
beforeEach(async () => {
  home = await mkdtemp(join(tmpdir(), 'latchkey-record-'))
  for (const path of ['src/a.ts', 'dist/a.js', 'packages/one/src/b.ts', 'packages/one/dist/b.js']) await put(path, path)
  const record = createBuildRecord(home)
  await record.write(await record.hashInputs())
})
afterEach(() => rm(home, { recursive: true, force: true }))

const isCurrent = () => createBuildRecord(home).isCurrent()

it('a build is needed only after a change of what it reads or has written', async () => {
  expect(await isCurrent()).toBe(true)
  await put('src/a.test.ts', 'a test is no part of the program')
  await put('src/a.ts', 'src/a.ts')
  expect(await isCurrent()).toBe(true)
})

it.each([
  ...['src/a.ts', 'src/new.ts', 'web/page.tsx', 'packages/one/src/b.ts', 'node_modules/.package-lock.json'],
  ...['dist/a.js', 'dist/stray.js', 'packages/one/dist/b.js'],
])('a build is needed after a change of %s', async (path) => {
  await put(path, 'changed')
  expect(await isCurrent()).toBe(false)
})

it('a build is needed after a change that came while the last one ran', async () => {
  const record = createBuildRecord(home)
  const before = await record.hashInputs()
  await put('src/a.ts', 'changed in the meantime')
  await record.write(before)
  expect(await isCurrent()).toBe(false)
})

it('a build is needed where a file is gone, or where there is no record', async () => {
  await rm(join(home, 'dist/a.js'))
  expect(await isCurrent()).toBe(false)
  await rm(join(home, 'node_modules'), { recursive: true })
  expect(await isCurrent()).toBe(false)
})
