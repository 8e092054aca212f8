import { execFile } from 'node:child_process'
import { mkdtemp, readdir, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { newServiceKey } from '../../src/programs/service-keys.js'
import { addAuthenticator } from '../support/authenticator.js'
import { goodPassword, type Latchkey, startLatchkey } from '../support/latchkey.js'
import { read } from '../support/project.js'

const run = promisify(execFile)

describe('the guide for programs without a browser', () => {
  let latchkey: Latchkey
  let folder: string
  let keys: string
  const { key, line } = newServiceKey('hr', { scopes: ['users:read', 'users:write', 'invitations', 'groups'] })
  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), 'latchkey-programs-'))
    keys = await mkdtemp(join(tmpdir(), 'latchkey-keys-'))
    await writeFile(join(keys, 'keys'), line)
    latchkey = await startLatchkey({
      settings: {
        SENSITIVE_LIMIT: '3/1h',
        SERVICE_KEYS_FILE: join(keys, 'keys'),
        ALLOWED_ORIGINS: 'https://app.example.com',
      },
    })
    await latchkey.signedUp('ada')
    await latchkey.app.rooms.groups.add('acme', { ip: 'command line', userAgent: 'root' })
  })
  afterAll(async () => {
    for (const each of [folder, keys]) await rm(each, { recursive: true, force: true })
    await latchkey.stop()
  })

  const forThisService = (text: string) =>
    text.replaceAll(/https:\/\/auth\.example\.com|http:\/\/10\.0\.0\.5:3000/g, latchkey.url)
  const sample = async (name: string) => forThisService(await read(`docs/samples/${name}`))

  const signedIn = async (username: string) => {
    const tab = latchkey.browser()
    await tab.post('/login', { username, password: goodPassword })
    return tab
  }

  it('has commands for curl that work one after the other, and end the session', async () => {
    const { stdout } = await run('bash', ['-euo', 'pipefail', '-c', await sample('session.sh')], { cwd: folder })
    expect(stdout.match(/"username":"ada"/g)).toHaveLength(4)
    expect(await readdir(folder)).toEqual([])
    const kinds = await latchkey.sql.query(`select kind from events where user_agent like 'curl/%' order by id`)
    expect(kinds).toEqual([{ kind: 'signed_in' }, { kind: 'signed_out' }])
  })

  it('has commands for curl with a service key', async () => {
    const env = { PATH: process.env.PATH ?? '', SERVICE_KEY: key }
    const { stdout } = await run('bash', ['-euo', 'pipefail', '-c', await sample('service-api.sh')], {
      cwd: folder,
      env,
    })
    expect(stdout.match(/"disabled":(true|false)/g)).toEqual(['false', 'true', 'false'].map((is) => `"disabled":${is}`))
    expect(stdout.match(/"invitedBy":"Ada of Acme","returnTo":"https:\/\/app\.example\.com\/welcome"/g)).toHaveLength(2)
    expect(await readdir(folder)).toEqual([])
  })

  it('has a program for Node that signs in, renews, changes something and signs out', async () => {
    const program = await sample('script.mjs')
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

  it('has a program for Node that gives up when it would have to wait for an hour, and says what a second step is', async () => {
    const program = await sample('script.mjs')
    const reset = "(await send('POST', '/api/auth/reset-password', { email: 'bea@example.com' })).status"
    const resets = `console.log([${[reset, reset, reset, reset].join(', ')}].join())`
    await writeFile(join(folder, 'resets.mjs'), `${program.slice(0, program.indexOf('const me ='))}\n${resets}`)
    const env = { PATH: process.env.PATH ?? '', PROGRAM_PASSWORD: goodPassword }
    const { stdout } = await run(process.execPath, ['resets.mjs'], { cwd: folder, env })
    expect(stdout).toBe('202,202,202,429\n')
    const tab = await signedIn('ada')
    await addAuthenticator(tab, latchkey)
    await writeFile(join(folder, 'second-step.mjs'), program)
    await expect(run(process.execPath, ['second-step.mjs'], { cwd: folder, env })).rejects.toThrow(
      /needs a second step/,
    )
  })
})
