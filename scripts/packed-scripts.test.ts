import { execFile } from 'node:child_process'
import { mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { expect, it, onTestFinished } from 'vitest'

const run = promisify(execFile)
const home = fileURLToPath(new URL('..', import.meta.url))
const tool = fileURLToPath(new URL('packed-scripts.mjs', import.meta.url))

it('a packed package has no scripts of the repository, and the package.json of the repository stays as it is', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'latchkey-packed-'))
  onTestFinished(() => rm(folder, { recursive: true }))
  const scripts = {
    prepare: 'node missing.mjs',
    prepack: `node ${tool}`,
    postpack: `node ${tool} --restore`,
    start: 'exec node dist/main.js serve',
  }
  const text = JSON.stringify({ name: 'packed', version: '1.0.0', files: ['dist'], scripts })
  await writeFile(join(folder, 'package.json'), text)
  await run('npm', ['pack'], { cwd: folder })
  expect(await readFile(join(folder, 'package.json'), 'utf8')).toBe(text)
  expect((await readdir(folder)).sort()).toEqual(['package.json', 'packed-1.0.0.tgz'])
  const { stdout } = await run('tar', ['-xOf', 'packed-1.0.0.tgz', 'package/package.json'], { cwd: folder })
  expect(JSON.parse(stdout)).toEqual({
    name: 'packed',
    version: '1.0.0',
    files: ['dist'],
    scripts: { start: scripts.start },
  })
})

it('the program and every package are packed like that', async () => {
  const folders = (await readdir(join(home, 'packages'), { withFileTypes: true })).filter((each) => each.isDirectory())
  const places = ['.', ...folders.map(({ name }) => `packages/${name}`)]
  expect(places.length).toBeGreaterThan(4)
  for (const place of places) {
    const { scripts } = JSON.parse(await readFile(join(home, place, 'package.json'), 'utf8'))
    expect(scripts.prepack, place).toMatch(/ && node (\.\.\/\.\.\/)?scripts\/packed-scripts\.mjs$/)
    expect(scripts.postpack, place).toMatch(/^node (\.\.\/\.\.\/)?scripts\/packed-scripts\.mjs --restore$/)
  }
})
