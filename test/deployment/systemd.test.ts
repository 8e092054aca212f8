import { execFile, spawn } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { chmod, mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
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
export CREDENTIALS_DIRECTORY=$(mktemp -d "$ROOT/credentials-XXXX")
while [[ $1 != -- ]]; do
  case "$1" in
    --property=LoadCredential=*) given=\${1#--property=LoadCredential=}; cp "\${given#*:}" "$CREDENTIALS_DIRECTORY/\${given%%:*}" ;;
    --property=EnvironmentFile=*) set -a; . "\${1#--property=EnvironmentFile=}"; set +a ;;
    --setenv=*) export "\${1#--setenv=}" ;;
  esac
  shift
done
shift
exec "$@"
`

describe('the command line with the credentials of the units', () => {
  let root: string
  beforeAll(async () => {
    root = await mkdtemp(join(tmpdir(), 'latchkey-systemd-'))
    await mkdir(join(root, 'secrets'))
    for (const name of ['database_url', 'jwt_secret', 'database_owner_url'])
      await writeFile(join(root, 'secrets', name), `the ${name}\n`)
    await writeFile(join(root, 'latchkey.env'), 'PUBLIC_URL=https://app.example.com\n')
    // In the place of the program: says what it was given.
    await writeFile(
      join(root, 'node'),
      `#!/bin/bash\nshift\necho "$@"\nfor each in \${!DATABASE*} \${!JWT*} SUDO_USER PUBLIC_URL NODE_ENV; do echo "$each=\${!each}"; done\ncat "$DATABASE_URL_FILE" -\n`,
    )
    await writeFile(join(root, 'systemd-run'), standIn)
    const wrapper = await readFile(fileURLToPath(new URL('../../deploy/systemd/latchkey', import.meta.url)), 'utf8')
    const localised = wrapper.replaceAll('/etc/latchkey', root).replaceAll('/usr/bin/node', join(root, 'node'))
    await writeFile(join(root, 'latchkey'), localised)
    for (const name of ['node', 'systemd-run', 'latchkey']) await chmod(join(root, name), 0o755)
  })
  afterAll(() => rm(root, { recursive: true, force: true }))

  const call = async (...args: string[]) => {
    const env = { ROOT: root, SUDO_USER: 'ada', PATH: `${root}:${process.env.PATH}` }
    const child = run(join(root, 'latchkey'), args, { env })
    child.child.stdin?.end('from standard input\n')
    return (await child).stdout
  }

  it('passes arguments, standard input, settings and credentials on, and the owner only where tables change', async () => {
    const said = await call('user', 'import', '-', '--format', 'two words')
    expect(said).toMatch(
      /^user import - --format two words\nDATABASE_URL_FILE=\S+\/database_url\nJWT_SECRET_FILE=\S+\n/,
    )
    expect(said).toContain(
      'SUDO_USER=ada\nPUBLIC_URL=https://app.example.com\nNODE_ENV=production\nthe database_url\nfrom standard input\n',
    )
    expect(said).not.toContain('OWNER')
    for (const command of ['migrate', 'doctor'])
      expect(await call(command)).toMatch(/DATABASE_OWNER_URL_FILE=\S+\/database_owner_url\n/)
    // Without a command, the program itself would start the service.
    expect(await call()).toMatch(/^--help\n/)
  })
})

it('the role of the containers is made as the guide makes it', async () => {
  const read = (path: string) => readFile(fileURLToPath(new URL(`../../${path}`, import.meta.url)), 'utf8')
  const revokes = (await read('docs/deployment.md')).match(/^revoke .*;$/gm) ?? []
  expect(revokes).toHaveLength(2)
  const script = await read('deploy/postgres/10-latchkey-role.sh')
  expect(revokes.filter((line) => !script.includes(`\n${line}\n`))).toEqual([])
})
