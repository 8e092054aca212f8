import { cp, mkdir, mkdtemp, readdir, rename, rm, symlink } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { runLatchkey } from '../support/program.js'

const project = fileURLToPath(new URL('../..', import.meta.url))

let home: string
/** The program in a folder of its own, with links to the packages that it needs. */
beforeAll(async () => {
  home = await mkdtemp(join(tmpdir(), 'latchkey-packages-'))
  const filter = (path: string) => !/\/dist\/modules|\.map$/.test(path)
  for (const part of ['dist', 'migrations', 'package.json'])
    await cp(join(project, part), join(home, part), { recursive: true, filter })
  await mkdir(join(home, 'node_modules/bcrypt'), { recursive: true })
  for (const name of ['piscina', 'node-gyp-build', '@zxcvbn-ts', '@electric-sql'])
    await symlink(join(project, 'node_modules', name), join(home, 'node_modules', name))
  // bcrypt as an installation leaves it whose machine code is for another platform.
  for (const name of await readdir(join(project, 'node_modules/bcrypt')))
    if (name !== 'prebuilds' && name !== 'build')
      await cp(join(project, 'node_modules/bcrypt', name), join(home, 'node_modules/bcrypt', name), { recursive: true })
})
afterAll(() => rm(home, { recursive: true }))

// Neither needs a database for this.
const settings = { NODE_ENV: 'test', DATABASE_URL: 'postgres://latchkey@127.0.0.1:1/latchkey' }
const start = (command: string) => runLatchkey(join(home, 'data'), settings, [command], join(home, 'dist/main.js'))

it('a start names the package or the file that is missing, doctor the package, and migrate the folder', async () => {
  await mkdir(join(home, 'data'))
  const sentence = (name: string) => new RegExp(`the package ${name} is missing or incomplete`)
  const [service, doctor] = [start('serve'), start('doctor')]
  expect([await service.exited, await doctor.exited]).toEqual([1, 1])
  expect(service.output.stderr.trim().split('\n')).toEqual([expect.stringMatching(sentence('bcrypt'))])
  expect(doctor.output.stdout).toMatch(sentence('bcrypt'))
  await rename(join(home, 'dist/common-passwords'), join(home, 'elsewhere'))
  const incomplete = start('serve')
  expect(await incomplete.exited).toBe(1)
  expect(incomplete.output.stderr.trim()).toMatch(/^.*the file dist\/common-passwords of the program is missing.*$/)
  await rename(join(home, 'elsewhere'), join(home, 'dist/common-passwords'))
  await rm(join(home, 'migrations'), { recursive: true })
  const migrate = start('migrate')
  expect(await migrate.exited).toBe(1)
  expect(migrate.output.stderr).toMatch(/^The folder \S+\/migrations cannot be read: .*\n$/)
  await rm(join(home, 'node_modules/piscina'))
  const without = start('serve')
  expect(await without.exited).toBe(1)
  expect(without.output.stderr.trim().split('\n')).toEqual([expect.stringMatching(sentence('piscina'))])
})
