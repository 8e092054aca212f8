import { execFile, spawn } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { chmod, mkdir, mkdtemp, readFile, rename, rm, stat, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { readServiceKeys } from '../../src/programs/service-keys.js'
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
    const sql = /```sql\n([^`]+)```/.exec(await read('deploy/README.md'))?.[1] ?? ''
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
      `#!/bin/bash\nshift\necho "$@"\nfor each in RUNS_AS SUDO_USER PUBLIC_URL NODE_ENV DATA_DIR SECRETS_DIR; do echo "$each=\${!each}"; done\ncat \${CREDENTIALS_DIRECTORY:+"$CREDENTIALS_DIRECTORY/database_owner_url"} -\n`,
    )
    await writeFile(join(root, 'systemd-run'), standIn)
    const wrapper = await read('deploy/systemd/latchkey')
    const localised = wrapper.replaceAll('/etc/latchkey', root)
    await writeFile(join(root, 'told'), localised.replaceAll('/usr/bin/node', join(root, 'node')))
    await writeFile(
      join(root, 'latchkey-command'),
      // This command makes a database of its own, and not in the folder of an installation on this machine.
      localised
        .replaceAll('/usr/bin/node', process.execPath)
        .replaceAll('/opt/latchkey/dist/main.js', program)
        .replaceAll('/var/lib/latchkey', join(root, 'state')),
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
    const rest = `SUDO_USER=ada\nPUBLIC_URL=https://app.example.com\nNODE_ENV=production\nDATA_DIR=/var/lib/latchkey\nSECRETS_DIR=${root}/secrets\n`
    expect(await call('told', 'user', 'import', '-', '--format', 'two words')).toBe(
      `user import - --format two words\nRUNS_AS=User=latchkey\n${rest}Correct-Horse-7-battery\n`,
    )
    for (const command of ['migrate', 'content', 'doctor', 'backup', 'restore'])
      expect(await call('told', command)).toBe(
        `${command}\nRUNS_AS=DynamicUser=yes\n${rest}the address of the owner\nCorrect-Horse-7-battery\n`,
      )
    // Without a command, the program itself would start the service.
    expect(await call('told')).toMatch(/^--help\n/)
    // With a database of its own there is no other owner, and only the service's user can enter its folder.
    await rename(join(root, 'owner'), join(root, 'no-owner'))
    const withOwnDatabase = await call('told', 'doctor')
    await rename(join(root, 'no-owner'), join(root, 'owner'))
    expect(withOwnDatabase).toBe(`doctor\nRUNS_AS=User=latchkey\n${rest}Correct-Horse-7-battery\n`)
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
    for (const name of ['latchkey.service', 'latchkey@.service']) {
      const unit = (await read(`deploy/systemd/${name}`)).replaceAll(/^#.*$/gm, '')
      for (const each of [
        'User=latchkey',
        'EnvironmentFile=/etc/latchkey/latchkey.env',
        'Environment=SECRETS_DIR=/etc/latchkey/secrets',
      ])
        expect(unit, name).toContain(`\n${each}\n`)
      expect(unit, name).not.toMatch(/%d|LoadCredential/)
    }
  })

  it('gives the unit with a database of its own a folder for it, a stop that reaches the service first, and the same hardening', async () => {
    const [own, ofServers] = await Promise.all(
      ['latchkey.service', 'latchkey@.service'].map(async (name) =>
        (await read(`deploy/systemd/${name}`)).split('\n').filter((line) => /^\w+=/.test(line)),
      ),
    )
    const added = own?.filter((line) => !ofServers?.includes(line))
    expect(added).toEqual([
      ...['Description=Latchkey authentication service', 'After=network-online.target'],
      ...['Environment=DATA_DIR=/var/lib/latchkey', 'StateDirectory=latchkey', 'StateDirectoryMode=0750'],
    ])
    expect(own).toContain('KillMode=mixed')
    const left = ofServers?.filter((line) => !own?.includes(line) && !/^(?:Description|After)=/.test(line))
    expect(left).toEqual(['Environment=PORT=%i', 'Environment=METRICS_PORT=1%i'])
    // Commands use the same folder.
    expect(await read('deploy/systemd/latchkey')).toContain('--setenv=DATA_DIR=/var/lib/latchkey ')
    expect(await read('deploy/without-systemd/latchkey')).toContain(' DATA_DIR=/var/lib/latchkey ')
  })
})

it('the role of the containers is made as the guide makes it', async () => {
  const read = (path: string) => readFile(fileURLToPath(new URL(`../../${path}`, import.meta.url)), 'utf8')
  // For a new database, and for one that is restored.
  const revokes = new Set((await read('deploy/README.md')).match(/^revoke .*;$/gm))
  expect(revokes.size).toBe(2)
  const script = await read('deploy/postgres/10-latchkey-role.sh')
  expect([...revokes].filter((line) => !script.includes(`\n${line}\n`))).toEqual([])
})

describe('the command line without systemd', () => {
  const isRoot = process.getuid?.() === 0
  let root: string
  const write = (name: string, text: string) => writeFile(join(root, name), text)
  beforeAll(async () => {
    root = await mkdtemp(join(tmpdir(), 'latchkey-without-systemd-'))
    await chmod(root, 0o755)
    for (const folder of ['owner', 'opt']) await mkdir(join(root, folder))
    await write('owner/database_owner_url', 'the address of the owner\n')
    await chmod(join(root, 'owner/database_owner_url'), 0o600)
    // In the place of the program: says what it was given.
    const names = 'MAIL_FROM QUOTED NODE_ENV SECRETS_DIR SUDO_USER PORT DATABASE_OWNER_URL'
    await write(
      'node',
      `#!/bin/bash\nshift\necho "$@"\nfor each in ${names}; do echo "$each=\${!each-}"; done\nid -un; id -gn; pwd; cat -\n`,
    )
    const wrapper = (await read('deploy/without-systemd/latchkey'))
      .replaceAll('/etc/latchkey', root)
      .replaceAll('/usr/bin/node', join(root, 'node'))
      .replaceAll('/opt/latchkey', join(root, 'opt'))
      .replaceAll('/var/lib/latchkey', join(root, 'state'))
    // A user that every machine has.
    await write('latchkey', wrapper.replace('user=latchkey', 'user=daemon'))
    for (const name of ['node', 'latchkey']) await chmod(join(root, name), 0o755)
  })
  afterAll(() => rm(root, { recursive: true, force: true }))

  const call = async (settings: string, ...args: string[]) => {
    await write('latchkey.env', settings)
    const child = run(join(root, 'latchkey'), args, { env: { PATH: process.env.PATH, PORT: '3001', SUDO_USER: 'ada' } })
    // A wrapper that refuses its file ends without reading.
    child.child.stdin?.on('error', () => undefined).end('from the pipe\n')
    return (await child).stdout.split('\n')
  }
  const settings = [
    '# Of the guide',
    '',
    'MAIL_FROM=Latchkey <no-reply@example.com> $(id) `id`',
    'QUOTED="two words"',
    'PORT_OF_OTHERS=1',
  ].join('\n')
  const shown = [
    'MAIL_FROM=Latchkey <no-reply@example.com> $(id) `id`',
    'QUOTED=two words',
    'NODE_ENV=production',
    'SECRETS_DIR=ROOT',
    'SUDO_USER=ada',
    'PORT=3001',
  ]
  const users = (root: string[]) => (isRoot ? root : [expect.stringMatching(/./), expect.stringMatching(/./)])

  it('passes settings, arguments and standard input on, as the user of the service', async () => {
    const given = shown.map((line) => line.replace('ROOT', `${root}/secrets`))
    const rest = [join(root, 'opt'), 'from the pipe', '']
    for (const args of [['serve'], ['user', 'add', '--email', 'a b@example.com']])
      expect(await call(settings, ...args)).toEqual([
        args.join(' '),
        ...given,
        'DATABASE_OWNER_URL=',
        ...users(['daemon', 'daemon']),
        ...rest,
      ])
    // Only where tables change is the address of their owner given, and to a process whose environment no instance can read.
    expect(await call(settings, 'migrate')).toEqual([
      'migrate',
      ...given,
      isRoot ? 'DATABASE_OWNER_URL=the address of the owner' : 'DATABASE_OWNER_URL=',
      ...users(['nobody', 'daemon']),
      ...rest,
    ])
    // With a database of its own there is no other owner, and only the service's user can enter its folder.
    await rename(join(root, 'owner'), join(root, 'no-owner'))
    const withOwnDatabase = await call(settings, 'doctor')
    await rename(join(root, 'no-owner'), join(root, 'owner'))
    expect(withOwnDatabase).toEqual([
      'doctor',
      ...given,
      'DATABASE_OWNER_URL=',
      ...users(['daemon', 'daemon']),
      ...rest,
    ])
    // Without a command, the program itself would start the service.
    expect((await call(settings))[0]).toBe('--help')
  })

  it('names a line that is no setting, and not what stands in it', async () => {
    const failed = await call('A=1\nSMTP secret-word').catch((error: { code: number; stderr: string }) => error)
    expect(failed).toMatchObject({
      code: 1,
      stderr: `${root}/latchkey.env: line 2 is no setting such as NAME=value.\n`,
    })
  })
})
