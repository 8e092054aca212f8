import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { cp, mkdir, mkdtemp, rm, symlink, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { expect, it, onTestFinished } from 'vitest'

const home = fileURLToPath(new URL('..', import.meta.url))

/** The first line that a build prints in this folder. It is not waited for. */
const firstLine = async (folder: string) => {
  const child = spawn(process.execPath, [join(folder, 'scripts/build.mjs'), '--if-changed'], { cwd: folder })
  const [output] = await Promise.race([once(child.stdout, 'data'), once(child, 'exit')])
  const exited = child.exitCode === null && child.signalCode === null ? once(child, 'exit') : undefined
  child.kill('SIGKILL')
  await exited
  return String(output)
}

it('npm start says at once that it builds, and how long that takes the first time', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'latchkey-build-'))
  onTestFinished(() => rm(folder, { recursive: true, force: true }))
  await cp(join(home, 'scripts'), join(folder, 'scripts'), { recursive: true })
  await symlink(join(home, 'node_modules'), join(folder, 'node_modules'))
  expect(await firstLine(folder)).toBe('Building…, about half a minute the first time\n')
  await mkdir(join(folder, 'dist'), { recursive: true })
  await writeFile(join(folder, 'dist/main.js'), '')
  expect(await firstLine(folder)).toBe('Building…\n')
})
