import { execFile, spawn } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { chmod, mkdir, mkdtemp, readFile, rm, stat, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { readServiceKeys } from '../../src/app/service-keys-file.js'
import { testPostgres, urlFor } from '../support/databases.js'
import { read } from '../support/project.js'
import { findProgram } from '../support/servers/programs.js'
import { noStore } from '../support/stores.js'
import { latchkey } from '../support/terminal.js'

const run = promisify(execFile)

describe('the SQL of the systemd guide', () => {
  const suffix = randomBytes(6).toString('hex')
  const [owner, role] = [`owner_${suffix}`, `service_${suffix}`]
  const server = process.env.TEST_DATABASE_URL ?? ''
  const on = (user: string) => {
    const url = new URL(urlFor(server, { user, password: 'only-for-this-test' }))
    url.pathname = `/${owner}`
    return url.href
  }
  afterAll(async () => {
    const admin = testPostgres(server)
    await admin.query(`drop database if exists ${owner} with (force)`)
    for (const each of [owner, role]) await admin.query(`drop role if exists ${each}`)
    await admin.close()
  })

  it('makes two roles with which migrate and the service have what they need, and no more', async () => {
    const sql = /```sql\n([^`]+)```/.exec(await read('docs/deployment.md'))?.[1] ?? ''
    // The database and the owner get one name here: others use this server too.
    const own = sql
      .replaceAll(/password '[^']+'/g, "password 'only-for-this-test'")
      .replaceAll('latchkey_owner', owner)
      .replace(/create role latchkey login/, `create role ${role} login`)
      .replace(/ to latchkey;/, ` to ${role};`)
      .replaceAll(/\blatchkey\b/g, owner)
    const psql = spawn(findProgram('psql') ?? 'psql', ['-v', 'ON_ERROR_STOP=1', server], {
      stdio: ['pipe', 'pipe', 'pipe'],
    })
    let said = ''
    psql.stderr.on('data', (chunk: Buffer) => (said += chunk))
    const ended = new Promise((resolve) => psql.once('close', resolve))
    psql.stdin.end(own)
    expect([await ended, said]).toEqual([0, ''])

    const environment = { NODE_ENV: 'production', DATABASE_OWNER_URL: on(owner), DATABASE_URL: on(role) }
    expect(await latchkey(noStore, ['migrate'], { environment })).toMatchObject({ code: 0, err: '' })
    const ofService = { NODE_ENV: 'test', DATABASE_URL: on(role) }
    const { out: report } = await latchkey(noStore, ['doctor'], { environment: ofService })
    expect(report).toMatch(/^ok +database role .*only reads content, and creates nothing$/m)
    expect(report).toMatch(/^ok +database schema /m)
  })
})

/** Does what systemd does with these options, as far as the wrapper needs it. */
const standIn = `#!/bin/bash
set -euo pipefail
while [[ $1 != -- ]]; do
  case "$1" in
    --property=LoadCredential=*)
      given=\${1#--property=LoadCredential=}
      export CREDENTIALS_DIRECTORY=$(mktemp -d "$ROOT/credentials-XXXX")
      cp "\${given#*:}" "$CREDENTIALS_DIRECTORY/\${given%%:*}" ;;
    --property=StateDirectory=*) mkdir -p "$ROOT/\${1#--property=StateDirectory=}" ;;
    --property=UMask=*) umask "\${1#--property=UMask=}" ;;
    --property=EnvironmentFile=*) set -a; . "\${1#--property=EnvironmentFile=}"; set +a ;;
    --property=User=* | --property=DynamicUser=*) export RUNS_AS=\${1#--property=} ;;
    --setenv=*) export "\${1#--setenv=}" ;;
  esac
  shift
done
shift
exec "$@"
`

describe('the command line with the settings and secrets of the units', () => {
  const program = fileURLToPath(new URL('../../dist/main.js', import.meta.url))
  let root: string
  beforeAll(async () => {
    root = await mkdtemp(join(tmpdir(), 'latchkey-systemd-'))
    for (const folder of ['secrets', 'owner']) await mkdir(join(root, folder))
    await writeFile(join(root, 'secrets', 'sealing_key'), `${randomBytes(48).toString('hex')}\n`)
    await writeFile(join(root, 'owner', 'database_owner_url'), 'the address of the owner\n')
    await writeFile(
      join(root, 'latchkey.env'),
      `PUBLIC_URL=https://app.example.com\nSERVICE_KEYS_FILE=${root}/latchkey/keys\n`,
    )
    // In the place of the program: says what it was given.
    await writeFile(
      join(root, 'node'),
      `#!/bin/bash\nshift\necho "$@"\nfor each in RUNS_AS SUDO_USER PUBLIC_URL NODE_ENV SECRETS_DIR; do echo "$each=\${!each}"; done\ncat \${CREDENTIALS_DIRECTORY:+"$CREDENTIALS_DIRECTORY/database_owner_url"} -\n`,
    )
    await writeFile(join(root, 'systemd-run'), standIn)
    const wrapper = await read('deploy/systemd/latchkey')
    const localised = wrapper.replaceAll('/etc/latchkey', root)
    await writeFile(join(root, 'told'), localised.replaceAll('/usr/bin/node', join(root, 'node')))
    await writeFile(
      join(root, 'latchkey-command'),
      localised.replaceAll('/usr/bin/node', process.execPath).replaceAll('/opt/latchkey/dist/main.js', program),
    )
    for (const name of ['node', 'systemd-run', 'told', 'latchkey-command']) await chmod(join(root, name), 0o755)
  })
  afterAll(() => rm(root, { recursive: true, force: true }))

  const call = async (name: 'told' | 'latchkey-command', ...args: string[]) => {
    const env = { ROOT: root, SUDO_USER: 'ada', PATH: `${root}:${process.env.PATH}` }
    const child = run(join(root, name), args, { env })
    child.child.stdin?.end('Correct-Horse-7-battery\n')
    return (await child).stdout
  }

  it('passes arguments, standard input and settings on, and the owner only where tables change', async () => {
    const rest = `SUDO_USER=ada\nPUBLIC_URL=https://app.example.com\nNODE_ENV=production\nSECRETS_DIR=${root}/secrets\n`
    expect(await call('told', 'user', 'import', '-', '--format', 'two words')).toBe(
      `user import - --format two words\nRUNS_AS=User=latchkey\n${rest}Correct-Horse-7-battery\n`,
    )
    for (const command of ['migrate', 'doctor'])
      expect(await call('told', command)).toBe(
        `${command}\nRUNS_AS=DynamicUser=yes\n${rest}the address of the owner\nCorrect-Horse-7-battery\n`,
      )
    // Without a command, the program itself would start the service.
    expect(await call('told')).toMatch(/^--help\n/)
  })

  it('writes service keys and lists of leaked passwords where the service can read them', async () => {
    const [key = '', line = ''] = (await call('latchkey-command', 'service-key', 'add', 'pod', '--print-line')).split(
      '\n',
    )
    expect([key, line]).toEqual([expect.stringMatching(/^latchkey_/), expect.stringMatching(/^pod [\da-f]{64}$/)])
    await call('latchkey-command', 'service-key', 'add', 'wiki')
    expect(await readServiceKeys(join(root, 'latchkey/keys'))).toMatchObject([{ name: 'wiki' }])
    const list = join(root, 'latchkey/leaked-passwords')
    expect(await call('latchkey-command', 'passwords', 'build', '-', list)).toContain('1 entry')
    expect(((await stat(list)).mode & 0o040) > 0).toBe(true)
  })

  it('gives the units the same folder of secrets, the same user, and nothing that only newer systemd knows', async () => {
    const unit = (await read('deploy/systemd/latchkey@.service')).replaceAll(/^#.*$/gm, '')
    for (const each of [
      'User=latchkey',
      'EnvironmentFile=/etc/latchkey/latchkey.env',
      'Environment=SECRETS_DIR=/etc/latchkey/secrets',
    ])
      expect(unit).toContain(`\n${each}\n`)
    expect(unit).not.toMatch(/%d|LoadCredential/)
  })
})

it('the role of the containers is made as the guide makes it', async () => {
  const read = (path: string) => readFile(fileURLToPath(new URL(`../../${path}`, import.meta.url)), 'utf8')
  // For a new database, and for one that is restored.
  const revokes = new Set((await read('docs/deployment.md')).match(/^revoke .*;$/gm))
  expect(revokes.size).toBe(2)
  const script = await read('deploy/postgres/10-latchkey-role.sh')
  expect([...revokes].filter((line) => !script.includes(`\n${line}\n`))).toEqual([])
})
