import { execFile } from 'node:child_process'
import { mkdtemp, readdir, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { goodPassword, type Latchkey, startLatchkey } from '../support/latchkey.js'
import { read } from '../support/project.js'

const run = promisify(execFile)

describe('the guide for programs without a browser', () => {
  let latchkey: Latchkey
  let folder: string
  beforeAll(async () => {
    latchkey = await startLatchkey()
    await latchkey.signedUp('ada')
    folder = await mkdtemp(join(tmpdir(), 'latchkey-programs-'))
  })
  afterAll(async () => {
    await rm(folder, { recursive: true, force: true })
    await latchkey.stop()
  })

  /** All blocks of one language, for the service that runs here. */
  const blocks = async (language: string) =>
    [...(await read('docs/programs.md')).matchAll(new RegExp(`\`\`\`${language}\\n(.*?)\`\`\``, 'gs'))].map(
      ([, block = '']) => block.replaceAll('https://auth.example.com', latchkey.url),
    )

  it('has commands for curl that work one after the other, and end the session', async () => {
    const commands = await blocks('sh')
    expect(commands).toHaveLength(6)
    const { stdout } = await run('bash', ['-euo', 'pipefail', '-c', commands.join('\n')], { cwd: folder })
    expect(stdout.match(/"username":"ada"/g)).toHaveLength(4)
    expect(await readdir(folder)).toEqual([])
    const kinds = await latchkey.sql.query(`select kind from events where user_agent like 'curl/%' order by id`)
    expect(kinds).toEqual([{ kind: 'signed_in' }, { kind: 'signed_out' }])
  })

  it('has a program for Node that signs in, renews, changes something and signs out', async () => {
    const [program = ''] = await blocks('js')
    await writeFile(join(folder, 'program.mjs'), program)
    const env = { PATH: process.env.PATH ?? '', PROGRAM_PASSWORD: goodPassword }
    const { stdout } = await run(process.execPath, ['program.mjs'], { cwd: folder, env })
    expect(stdout.split('\n')).toEqual([
      'signed in as ada',
      'after 15 minutes: 200',
      'a change: 200',
      'signed out: 204',
      '',
    ])
  })
})
