import { execFileSync, spawn } from 'node:child_process'
import { mkdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { afterAll, beforeAll, beforeEach, expect, it } from 'vitest'
import { secretOne, secretTwo, startWithFiles } from '../support/configuration-files.js'

let files: Awaited<ReturnType<typeof startWithFiles>>
const at = (name: string) => join(files.folder, name)
beforeAll(async () => {
  files = await startWithFiles()
  execFileSync('mkfifo', [at('fifo')])
  await mkdir(at('folder'))
  await writeFile(at('long'), 'x'.repeat(4_097))
})
afterAll(() => files.stop())
beforeEach(() => files.clear())

const wiki = (more: string) =>
  `applications:\n  Wiki:\n    redirect: [https://w.example/cb]\n    allow: everyone\n    ${more}\n`

it.each([
  ['secret: { file: fifo }', 'the file fifo cannot be read (it is a pipe or a device and no regular file)'],
  ['secret: { file: /dev/zero }', 'the file /dev/zero cannot be read (it is a pipe or a device and no regular file)'],
  ['secret: { file: folder }', 'the file folder cannot be read (it is a folder)'],
  ['secret: { file: long }', 'the file long is larger than 4 KB (4097 bytes)'],
  ['secret: { file: gone }', 'the file gone cannot be read (there is no such file)'],
  ['icon: fifo', 'cannot be read (it is a pipe or a device and no regular file)'],
  ['icon: /dev/zero', 'cannot be read (it is a pipe or a device and no regular file)'],
])('a file that names %j is refused at once, with the line and the application', async (more, sentence) => {
  const { code, err } = await files.apply(wiki(more))
  expect(code).toBe(1)
  expect(err).toContain('latchkey.yaml, line 5: applications.Wiki: ')
  expect(err).toContain(sentence)
})

it('the program reads standard input and a pipe; a name of their own they get with --as', async () => {
  const main = fileURLToPath(new URL('../../dist/main.js', import.meta.url))
  await writeFile(at('secret'), secretOne)
  await writeFile(at('given.yaml'), wiki(`secret: { file: secret }`))
  const program = (line: string) =>
    new Promise<{ code: number | null; err: string; out: string }>((resolve) => {
      const env = {
        PATH: process.env.PATH ?? '',
        LATCHKEY: `${process.execPath} ${main}`,
        DATABASE_URL: files.latchkey.config.databaseUrl ?? '',
        NODE_ENV: 'development',
      }
      const child = spawn('bash', ['-c', line], { cwd: files.folder, env })
      const said = { out: '', err: '' }
      child.stdout.on('data', (chunk: Buffer) => {
        said.out += chunk
      })
      child.stderr.on('data', (chunk: Buffer) => {
        said.err += chunk
      })
      child.stdin.end()
      child.on('close', (code) => resolve({ code, ...said }))
    })
  for (const given of ['<(cat given.yaml)', '/dev/stdin < given.yaml', '- < given.yaml']) {
    const nameless = await program(`$LATCHKEY apply ${given} --yes`)
    expect(nameless).toMatchObject({ code: 2, err: expect.stringContaining('--as latchkey.yaml') })
  }
  expect(await files.latchkey.sql.query('select 1 from applications')).toEqual([])
  const [first, ...same] = [
    await program('$LATCHKEY apply <(sleep 1; cat given.yaml) --yes --as latchkey.yaml'),
    await program('cat given.yaml | $LATCHKEY apply /dev/stdin --yes --as latchkey.yaml'),
    await program('$LATCHKEY apply - --yes --as latchkey.yaml < given.yaml'),
  ]
  expect(first).toMatchObject({ code: 0, out: expect.stringContaining('Applied latchkey.yaml: 1 change.') })
  for (const again of same) expect(again).toMatchObject({ code: 0, out: 'Everything is like this already.\n' })
  expect(await files.shown('Wiki')).toMatchObject({ setByFile: 'latchkey.yaml', secretsByFile: true })
  expect(await program('$LATCHKEY apply /dev/zero --yes --as a.yaml')).toMatchObject({
    code: 1,
    err: expect.stringContaining('/dev/zero: the file is larger than 1 MB'),
  })
})

it('standard input is a file too, and a file can have another name', async () => {
  const input = 'groups: {family: {}}'
  const given = await files.command(['apply', '-', '--yes', '--as', 'latchkey.yaml'], { input })
  expect(given).toMatchObject({ code: 0 })
  expect(await files.planned(input)).toEqual([])
  const other = await files.command(['apply', await files.write(input, 'tmp.yaml'), '--plan', '--as', 'latchkey.yaml'])
  expect(other).toMatchObject({ code: 0, out: 'Everything is like this already.\n' })
  for (const name of ['a/b', '..', '', 'a\u001b[31m'])
    expect(await files.command(['apply', '-', '--yes', '--as', name], { input })).toMatchObject({ code: 2 })
  const wrong = await files.command(['apply', '-', '--yes', '--as', 'latchkey.yaml'], { input: 'group: {}' })
  expect(wrong).toMatchObject({ code: 1, err: expect.stringContaining('standard input, line 1: the file has the key') })
})

it('the secret that was planned is the one that is written, whatever its file has by then', async () => {
  const { readConfiguration } = await import('../../src/configuration/read-configuration.js')
  const { configurationFiles, liveSettings, applicationSecrets } = files.latchkey.app.rooms
  await writeFile(at('secret'), secretOne)
  const path = await files.write(wiki('id: wiki\n    secret: { file: secret }'))
  const configuration = await readConfiguration({ path }, { environment: {}, liveSettings })
  const wish = { prune: false, makesSecrets: true }
  const operator = { ip: 'command line', userAgent: 'test' }
  const { changes: confirmed } = await configurationFiles.plan(configuration, operator, wish)
  await writeFile(at('secret'), secretTwo)
  await configurationFiles.apply(configuration, operator, { ...wish, confirmed })
  const owner = await applicationSecrets.findOwnerOf('wiki')
  expect([owner?.isRight(secretOne), owner?.isRight(secretTwo)]).toEqual([true, false])
})
