import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtemp, readdir, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, it, onTestFinished } from 'vitest'

const built = new URL('../../dist/modules/platform/temporary-folder.js', import.meta.url).href

it.each([
  ['a signal, which ends the process as before', '', 'SIGINT', 'SIGINT', null],
  ['a signal that a test runner takes', "process.on('SIGTERM', () => process.exit(7))", 'SIGTERM', null, 7],
] as const)('a temporary folder is removed by %s', async (_, listener, sent, signal, code) => {
  const folder = await mkdtemp(join(tmpdir(), 'latchkey-test-'))
  onTestFinished(() => rm(folder, { recursive: true, force: true }))
  const script = `const { makeTemporaryFolder } = await import('${built}'); ${listener}
    await makeTemporaryFolder('one-'); await (await makeTemporaryFolder('two-')).remove()
    setInterval(() => {}, 1000); process.stdout.write('ready')`
  const child = spawn(process.execPath, ['--input-type=module', '-e', script], {
    stdio: ['ignore', 'pipe', 'inherit'],
    env: { ...process.env, TMPDIR: folder },
  })
  await once(child.stdout, 'data')
  expect(await readdir(folder)).toHaveLength(1)
  child.kill(sent)
  expect(await once(child, 'exit')).toEqual([code, signal])
  expect(await readdir(folder)).toEqual([])
})
