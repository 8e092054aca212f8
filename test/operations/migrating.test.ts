import { execFile } from 'node:child_process'
import { cp, mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { emptyPostgres, type FreshDatabase, freshPostgres, testPostgres } from '../support/databases.js'
import { read } from '../support/project.js'
import { testProgram } from '../support/servers/programs.js'

const program = fileURLToPath(new URL('../../dist/main.js', import.meta.url))
const samples = fileURLToPath(new URL('../../docs/samples', import.meta.url))
const betterAuthHash = `${'a1'.repeat(16)}:${'b2'.repeat(64)}`
const bcryptHash = `$2a$10$${'a'.repeat(53)}`

/** The parts of the other systems' tables that the guide reads. */
const otherTables = `
  create table "user" (id text, email text, name text, "emailVerified" boolean, "createdAt" timestamp);
  create table account ("userId" text, "providerId" text, "accountId" text, password text);
  insert into "user" values
    ('1', 'ada@better.example', 'Ada', true, '2024-05-06 07:08:09'), ('2', 'ada@other.example', 'Ada 2', true, '2025-01-01'),
    ('3', 'unconfirmed@better.example', 'Mallory', false, '2025-01-01');
  insert into account values ('1', 'credential', '1', '${betterAuthHash}'), ('1', 'google', 'g-1', null), ('2', 'github', '22', null);
  create table users (id int, email text, name text, "emailVerified" timestamptz);
  create table accounts ("userId" int, provider text, "providerAccountId" text);
  insert into users values (1, 'bea@authjs.example', 'Bea', null), (2, 'stranger@authjs.example', null, null);
  insert into accounts values (1, 'google', 'g-2');
  create schema auth;
  create table auth.users (id uuid, email text, encrypted_password text, raw_user_meta_data jsonb, email_confirmed_at timestamptz,
    created_at timestamptz);
  create table auth.identities (user_id uuid, provider text, provider_id text);
  insert into auth.users values ('0190a0a0-0000-7000-8000-000000000001', 'cy@supabase.example', '${bcryptHash}',
    '{"full_name": "Cy"}', now(), '2023-01-02T03:04:05Z');`

const firebaseUsers = {
  users: [
    {
      localId: 'x1',
      email: 'dot@firebase.example',
      emailVerified: true,
      passwordHash: Buffer.alloc(64, 1).toString('base64'),
      salt: Buffer.alloc(10, 2).toString('base64'),
      displayName: 'Dot',
      createdAt: '1700000000000',
      providerUserInfo: [{ providerId: 'google.com', rawId: 'g-3' }],
    },
    { localId: 'x2', email: 'dot@second.example', emailVerified: true, providerUserInfo: [] },
    { localId: 'x3', phoneNumber: '+1555' },
  ],
}

const keycloakUser = (name: string, credentialData: object) => ({
  id: `0190a0a0-0000-7000-8000-0000000000${name.length}0`,
  username: name,
  email: `${name}@keycloak.example`,
  emailVerified: true,
  enabled: true,
  createdTimestamp: 1_700_000_000_000,
  firstName: 'Eve',
  lastName: 'Field',
  credentials: [
    {
      type: 'password',
      secretData: JSON.stringify({ value: 'B'.repeat(43).concat('='), salt: 'A'.repeat(22).concat('==') }),
      credentialData: JSON.stringify(credentialData),
    },
  ],
})
const argon2 = { type: ['id'], version: ['1.3'], memory: ['7168'], parallelism: ['1'], hashLength: ['32'] }
const keycloakUsers = {
  realm: 'myrealm',
  users: [
    keycloakUser('eve', { algorithm: 'argon2', hashIterations: 5, additionalParameters: argon2 }),
    keycloakUser('olive', { algorithm: 'pbkdf2-sha512', hashIterations: 210_000, additionalParameters: {} }),
  ],
}

describe('the guides with commands', () => {
  let old: FreshDatabase
  let database: FreshDatabase
  let folder: string

  beforeAll(async () => {
    ;[old, database] = await Promise.all([emptyPostgres(), freshPostgres()])
    folder = await mkdtemp(join(tmpdir(), 'latchkey-migrating-'))
    await mkdir(join(folder, 'export'))
    await cp(samples, join(folder, 'samples'), { recursive: true })
    await writeFile(join(folder, 'users.json'), JSON.stringify(firebaseUsers))
    await writeFile(join(folder, 'export/myrealm-users-0.json'), JSON.stringify(keycloakUsers))
    const key = Buffer.alloc(64, 7).toString('base64')
    await writeFile(
      join(folder, 'firebase-hash.txt'),
      `hash_config {\n  algorithm: SCRYPT,\n  base64_signer_key: ${key},\n  base64_salt_separator: Bw==,\n  rounds: 8,\n  mem_cost: 14,\n}\n`,
    )
  })
  afterAll(async () => {
    await Promise.all([old.drop(), database.drop()])
    await rm(folder, { recursive: true, force: true })
  })

  const run = async (guide: string) => {
    const blocks = [...(await read(guide)).matchAll(/```sh\n(.*?)```/gs)].map(([, commands]) => commands)
    expect(blocks.length).toBeGreaterThan(1)
    const latchkey = `latchkey() { '${process.execPath}' '${program}' "$@"; }`
    const env = {
      PATH: [process.env.PATH, dirname(testProgram('jq')), dirname(testProgram('psql'))].join(':'),
      NODE_ENV: 'test',
      DATABASE_URL: database.url,
      OLD_DATABASE_URL: old.url,
      DATA_DIR: folder,
    }
    return promisify(execFile)('bash', ['-euo', 'pipefail', '-c', [latchkey, ...blocks].join('\n')], {
      cwd: folder,
      env,
    })
  }

  it('migrating.md takes users from each system, with their passwords', async () => {
    const before = testPostgres(old.url)
    for (const statement of otherTables.split(';').filter((each) => each.trim() !== '')) await before.query(statement)
    await before.close()
    const { stdout, stderr } = await run('docs/migrating.md')
    expect(stdout.match(/^(?:Added|Would add) \d+ users?; 0 existed already; 0 rows were refused\./gm)).toEqual([
      'Would add 2 users; 0 existed already; 0 rows were refused.',
      'Added 2 users; 0 existed already; 0 rows were refused.',
      'Added 1 user; 0 existed already; 0 rows were refused.',
      'Added 1 user; 0 existed already; 0 rows were refused.',
      'Added 2 users; 0 existed already; 0 rows were refused.',
      'Added 2 users; 0 existed already; 0 rows were refused.',
    ])
    expect(stderr).toMatch(/^line 2: password_hash is of a kind that is not known/m)
    const sql = testPostgres(database.url)
    const users = await sql.query(
      `select username, split_part(password_hash, '$', 2) as kind, extract(year from created_at)::int as year,
         (select string_agg(provider || ' ' || subject, ' ') from identities where user_id = users.id) as linked
       from users order by email_key`,
    )
    await sql.close()
    const thisYear = new Date().getUTCFullYear()
    expect(users).toEqual([
      { username: 'ada', kind: 'scrypt-nfkc', year: 2024, linked: 'provider_a g-1' },
      { username: 'ada-2', kind: null, year: 2025, linked: 'provider_b 22' },
      { username: 'bea', kind: null, year: thisYear, linked: 'provider_a g-2' },
      { username: 'cy', kind: '2a', year: 2023, linked: null },
      { username: 'dot', kind: 'fbscrypt', year: 2023, linked: 'provider_a g-3' },
      { username: 'dot-2', kind: null, year: thisYear, linked: null },
      { username: 'eve', kind: 'argon2id', year: 2023, linked: null },
      { username: 'olive', kind: null, year: 2023, linked: null },
    ])
  })

  it('looks-and-words.md writes settings that the program takes, and loads a page', async () => {
    const { stdout } = await run('docs/looks-and-words.md')
    expect(stdout).toBe('Loaded 1 page.\n')
  })
})
