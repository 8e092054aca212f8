import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { expect, it } from 'vitest'
import { createThreads } from './threads.js'

it('a file that cannot be loaded fails its tasks and not the process, and is tried again', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'latchkey-threads-'))
  const file = join(folder, 'task.mjs')
  await writeFile(file, 'throw new Error("a package is missing")')
  const threads = createThreads(pathToFileURL(file), 2)
  const tasks = [1, 2, 3].map((number) => threads.run(number, { name: 'double' }))
  for (const each of await Promise.allSettled(tasks))
    expect(each).toMatchObject({ reason: { message: 'A thread could not be started: a package is missing' } })
  await writeFile(file, 'export const double = (number) => 2 * number')
  expect(await threads.run(21, { name: 'double' })).toBe(42)
  await threads.destroy()
  await rm(folder, { recursive: true })
})
