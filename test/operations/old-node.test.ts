import { execFile } from 'node:child_process'
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { read } from '../support/project.js'

const program = fileURLToPath(new URL('../../dist/main.js', import.meta.url))

let folder: string
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'latchkey-node-'))
})
afterAll(() => rm(folder, { recursive: true }))

/** The entry in a Node that says that it is this version. */
const startIn = async (version: string) => {
  const preload = join(folder, `${version}.cjs`)
  await writeFile(preload, `Object.defineProperty(process, 'version', { value: '${version}' })`)
  return new Promise<{ code: unknown; stdout: string; stderr: string }>((resolve) => {
    execFile(process.execPath, ['--require', preload, program, '--version'], (error, stdout, stderr) =>
      resolve({ code: error?.code ?? 0, stdout, stderr }),
    )
  })
}

it('an older Node says in one sentence which version is needed', async () => {
  const [, needed] = /"node": ">=([\d.]+)"/.exec(await read('package.json')) ?? []
  for (const version of ['v18.20.8', 'v20.18.3'])
    expect(await startIn(version)).toEqual({
      code: 1,
      stdout: '',
      stderr: `Latchkey needs Node ${needed} or newer; this is ${version.slice(1)}.\n`,
    })
  expect(await startIn(`v${needed}.0`)).toMatchObject({ code: 0, stdout: expect.stringMatching(/^latchkey /) })
})

/** The files that Node reads before it runs the first line of this one, with what they take from Node. */
const staticImports = async (path: string): Promise<string[]> => {
  const text = await readFile(path, 'utf8')
  const found = [...text.matchAll(/^(?:import|export)\b[^;'"]*?from ['"]([^'"]+)['"]/gm)].map(([, name = '']) => name)
  const own = found.filter((name) => name.startsWith('.')).map((name) => staticImports(join(dirname(path), name)))
  return [...found.filter((name) => !name.startsWith('.')), ...(await Promise.all(own)).flat()]
}

it('an older Node can read the entry: it imports nothing before the check', async () => {
  expect(new Set(await staticImports(program))).toEqual(new Set(['node:module']))
  // Node 14 does not know these.
  expect(await readFile(program, 'utf8')).not.toMatch(/\?\?=|\|\|=|&&=|^await /m)
})
