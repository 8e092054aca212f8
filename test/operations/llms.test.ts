import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { commandNames } from '../../src/commands/commands.js'
import { publishedSchema } from '../../src/configuration/guide.js'
import { llmsText } from '../../src/pages/llms.js'
import { type Latchkey, startLatchkey } from '../support/latchkey.js'
import { runLatchkey } from '../support/program.js'
import { read } from '../support/project.js'
import { latchkey as run } from '../support/terminal.js'

const page = await read('docs/llms.txt')
/** The blocks of the page, in their order. */
const blocks = [...page.matchAll(/^```(sh|yaml)\n(.*?)\n```$/gms)].map(([, kind = '', text = '']) => ({ kind, text }))

describe('docs/llms.txt', () => {
  let latchkey: Latchkey
  beforeAll(async () => {
    latchkey = await startLatchkey({ settings: { MAIL_SIGN_IN: 'on', ADMIN_GROUP: 'admins' } })
  })
  afterAll(() => latchkey.stop())

  it('is what the schema and the routes say: run npm run docs', async () => {
    const routes = latchkey.app.routes.list()
    expect(page).toBe(llmsText(routes))
    const served = await latchkey.browser().get('/llms.txt')
    expect([served.status, served.text]).toEqual([200, page])
    expect(served.headers.get('content-type')).toBe('text/plain; charset=utf-8')
    for (const [, address = ''] of page.matchAll(/^- `((?:GET|POST) \S+)`/gm))
      expect(routes.map(({ method, url }) => `${method} ${url}`)).toContain(address)
  })

  it('the schema for editors is that of the reader: run npm run docs', async () => {
    expect(JSON.parse(await read('docs/configuration.schema.json'))).toEqual(publishedSchema())
  })
})

it('help --json describes every command: what it takes, and what --json prints', async () => {
  const openRooms = () => Promise.reject(new Error('no database is needed'))
  const { code, out } = await run({ openRooms }, ['help', '--json'])
  expect(code).toBe(0)
  const { commands, exitCodes } = JSON.parse(out) as {
    commands: { name: string; json: string | null; options: { name: string }[]; help: string }[]
    exitCodes: Record<string, string>
  }
  expect(commands.map(({ name }) => name)).toEqual(commandNames)
  expect(Object.keys(exitCodes)).toEqual(['0', '1', '2', '3'])
  // It runs until it is stopped.
  expect(commands.filter(({ json }) => json === null).map(({ name }) => name)).toEqual(['serve'])
  for (const { name, json, options, help } of commands) {
    if (json !== null) expect([name, json]).toEqual([name, expect.stringMatching(/[{"]|the same|each line/)])
    if (json !== null) expect([name, help]).toEqual([name, expect.stringContaining('--json')])
    // The help of this one refers to that of another.
    for (const option of name === 'group members' ? [] : options)
      expect([name, help]).toEqual([name, expect.stringContaining(`--${option.name}`)])
  }
})

/** The program that a global installation would put into the path. */
const main = fileURLToPath(new URL('../../dist/main.js', import.meta.url))

it('every line of the page works as it says, beside a service with its own database', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'latchkey-llms-'))
  const service = runLatchkey(folder, { PORT: '0', DRAIN_DELAY: '0ms' })
  const variables: Record<string, string> = {}
  const runProgram = async (args: string[]) => {
    const env = { PATH: process.env.PATH ?? '', DATA_DIR: folder, ...variables }
    const child = spawn(process.execPath, [main, ...args], { cwd: folder, env, stdio: ['ignore', 'pipe', 'pipe'] })
    let out = ''
    child.stdout.on('data', (chunk: Buffer) => {
      out += chunk.toString()
    })
    child.stderr.resume()
    const [code] = await once(child, 'close')
    return { code: code as number, out }
  }
  /** What each kind of line is for, by its first words. */
  const follow: [RegExp, (line: RegExpExecArray, origin: string) => Promise<unknown>][] = [
    [
      /^npm install --global (\S+)$/,
      async ([, name]) => expect(name).toBe(JSON.parse(await read('package.json')).name),
    ],
    [/^latchkey serve$/, async () => expect(service.output.stdout).toContain('Latchkey is ready')],
    [
      /^curl -fsS http:\/\/localhost:3000(\/\S+)$/,
      async ([, path], origin) => expect([path, (await fetch(origin + path)).status]).toEqual([path, 200]),
    ],
    [
      /^export (\w+)=(\S+)$/,
      async ([, name = '', value = '']) => {
        variables[name] = value
      },
    ],
    [
      /^latchkey (.+?)(?: # exit code (\d))?$/,
      async ([line, args = '', code = '0']) => {
        const { code: actual, out } = await runProgram(args.split(' '))
        // The machine of a test has faults that doctor finds.
        if (!args.startsWith('doctor')) expect([line, actual]).toEqual([line, Number(code)])
        for (const each of out.trim().split('\n')) expect(() => JSON.parse(each), line).not.toThrow()
      },
    ],
  ]
  try {
    const origin = await service.ready()
    for (const { kind, text } of blocks) {
      if (kind === 'yaml') {
        await writeFile(join(folder, 'latchkey.yaml'), text)
        continue
      }
      for (const line of text.split('\n')) {
        const known = follow.map(([pattern, act]) => [pattern.exec(line), act] as const).find(([match]) => match)
        if (!known?.[0]) throw new Error(`No reader could follow: ${line}`)
        await known[1](known[0], origin)
      }
    }
    expect(blocks.filter(({ kind }) => kind === 'sh').length).toBeGreaterThan(4)
  } finally {
    await service.stop()
    await rm(folder, { recursive: true, force: true })
  }
})
