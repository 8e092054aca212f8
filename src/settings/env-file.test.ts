import { chmod, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { type Environment, likelyTypos, readEnvironment } from './config.js'
import { readEnvFile } from './secrets.js'

let folder: string
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'latchkey-env-'))
})
afterAll(() => rm(folder, { recursive: true }))

const read = async (text: string) => {
  const path = join(folder, '.env')
  await writeFile(path, text)
  const { values, faults } = readEnvFile(path)
  return { values, faults: faults.map((fault) => fault.replace(path, '.env')) }
}

it('reads names and values, comments, quotes and values of several lines', async () => {
  const text = "# settings\r\nA=1\r\n\nexport B = \"two # 2\" # more\nC='x\ny z\n'\nD=it's\nE=\n"
  const values = { A: '1', B: 'two # 2', C: 'x\ny z\n', D: "it's", E: '' }
  expect(await read(text)).toEqual({ values, faults: [] })
})

it('names the line that it cannot read, and never repeats it', async () => {
  expect((await read('A=1\nJWT_SECRET s3cret\nmy name=x\n\nB="s3cret\nC=2\n')).faults).toEqual([
    '.env, line 2: must be of the form NAME=value',
    '.env, line 3: must be of the form NAME=value',
    '.env, line 5: the " before the value is never closed',
  ])
})

it('tells a file that cannot be read from one that is not there', async () => {
  expect(readEnvFile(join(folder, 'none'))).toEqual({ values: {}, faults: [] })
  expect(readEnvFile(folder).faults).toEqual([`${folder}: the file cannot be read (it is a folder)`])
  await read('A=1')
  await chmod(join(folder, '.env'), 0)
  // Root may read every file.
  const expected = process.getuid?.() === 0 ? [] : ['.env: the file cannot be read (this user may not read it)']
  expect(readEnvFile(join(folder, '.env')).faults.map((fault) => fault.replace(`${folder}/`, ''))).toEqual(expected)
})

describe('outside production', () => {
  const environmentOf = async (lines: string, env: Environment = {}) => {
    const path = join(folder, '.env')
    await writeFile(path, lines)
    const { environment, envFileRemarks } = readEnvironment(path, env)
    return { environment, remarks: envFileRemarks.map((remark) => remark.replace(path, '.env')) }
  }

  // What an application with Next, Prisma and Express has in its `.env`.
  const ofAnApplication = `NODE_ENV=development
PORT=4000
HOST=0.0.0.0
DATABASE_URL=postgres://app:pw@127.0.0.1/app
DATABASE_OWNER_URL=postgres://app:pw@127.0.0.1/app
PUBLIC_URL=https://app.example.com
ALLOWED_ORIGINS=*
MAIL_FROM=app@example.com
WEBHOOK_URL=https://discord.example.com/hook
SESSION_MAX_AGE=86400000
REDIS_URL=redis://127.0.0.1
JWT_SECRET=the-secret-of-the-application
JWT_SECRET_FILE=/run/secrets/jwt
SMTP_URL=smtp://mail.example.com
LOG_LEVEL=debug
WEBHOOK_SECRET=
STRIPE_KEY=sk_test
LATCHKEY_URL=http://localhost:3000
LATCHKEY_SERVICE_KEY=key
`

  it('takes nothing of what an application has in its file, and says how to write it', async () => {
    const { environment, remarks } = await environmentOf(ofAnApplication)
    expect(environment).toEqual({
      STRIPE_KEY: 'sk_test',
      LATCHKEY_URL: 'http://localhost:3000',
      LATCHKEY_SERVICE_KEY: 'key',
    })
    const left = [
      ...[
        'ALLOWED_ORIGINS',
        'DATABASE_OWNER_URL',
        'DATABASE_URL',
        'HOST',
        'JWT_SECRET',
        'JWT_SECRET_FILE',
        'LOG_LEVEL',
      ],
      ...['MAIL_FROM', 'NODE_ENV', 'PORT', 'PUBLIC_URL', 'REDIS_URL', 'SESSION_MAX_AGE', 'SMTP_URL', 'WEBHOOK_URL'],
    ]
    expect(remarks).toEqual([
      `not taken from .env, because other programs use these names too: ${left.join(', ')}. For Latchkey write ${left.map((name) => `LATCHKEY_${name}`).join(', ')}`,
    ])
    expect(likelyTypos(environment)).toEqual([])
  })

  it('takes a line with the prefix, and names that only Latchkey has', async () => {
    const lines = `${ofAnApplication}LATCHKEY_PORT=3001
LATCHKEY_JWT_SECRET_FILE=/run/secrets/latchkey
LATCHKEY_PROVIDERS=okta
PROVIDER_OKTA_CLIENT_ID=client
LATCHKEY_PROVIDER_OKTA_ISSUER=https://example.okta.com
SERVICE_KEYS_FILE=keys
`
    const { environment, remarks } = await environmentOf(lines)
    expect(environment).toMatchObject({
      PORT: '3001',
      JWT_SECRET_FILE: '/run/secrets/latchkey',
      PROVIDERS: 'okta',
      PROVIDER_OKTA_CLIENT_ID: 'client',
      PROVIDER_OKTA_ISSUER: 'https://example.okta.com',
      SERVICE_KEYS_FILE: 'keys',
    })
    expect(environment).not.toHaveProperty('JWT_SECRET')
    expect(remarks[0]).toBe(
      'taken from .env: LATCHKEY_JWT_SECRET_FILE, LATCHKEY_PORT, LATCHKEY_PROVIDERS, LATCHKEY_PROVIDER_OKTA_ISSUER, PROVIDER_OKTA_CLIENT_ID, SERVICE_KEYS_FILE',
    )
    expect(remarks[1]).toMatch(/ JWT_SECRET,.* For Latchkey write .*LATCHKEY_JWT_SECRET,/)
    expect(remarks[1]).not.toMatch(/\bPORT|JWT_SECRET_FILE/)
  })

  it('prefers the environment, whose names stay as they are', async () => {
    const given = { DATABASE_URL: '', PORT: '5000', LATCHKEY_HOST: '::1' }
    const { environment, remarks } = await environmentOf('LATCHKEY_PORT=1\nDATABASE_URL=postgres://h/app\n', given)
    expect(environment).toEqual(given)
    expect(remarks).toEqual([])
    expect(likelyTypos(environment)).toEqual(['LATCHKEY_HOST is not a setting; did you mean HOST?'])
  })

  it('points out a misspelt line', async () => {
    const { environment } = await environmentOf('LATCHKEY_PUBLIC_ULR=http://localhost\nDATABSE_URL=postgres://h/app\n')
    expect(likelyTypos(environment).sort()).toEqual([
      'DATABSE_URL is not a setting; did you mean DATABASE_URL?',
      'LATCHKEY_PUBLIC_ULR is not a setting; did you mean PUBLIC_URL?',
    ])
  })

  it.each([
    ['the environment', '', { NODE_ENV: 'production' }],
    ['the file', 'NODE_ENV=production\n', {}],
    ['the file with the prefix', 'NODE_ENV=development\nLATCHKEY_NODE_ENV=production\n', {}],
  ])('but in production, by %s, every name of the file counts', async (_, line, env) => {
    const lines = `${line}JWT_SECRET=one\nREDIS_URL=redis://one\nLATCHKEY_REDIS_URL=redis://two\n`
    const { environment, remarks } = await environmentOf(lines, env)
    expect(environment).toEqual({ NODE_ENV: 'production', JWT_SECRET: 'one', REDIS_URL: 'redis://two' })
    expect(remarks).toEqual([expect.stringMatching(/^taken from .env: JWT_SECRET, .*LATCHKEY_REDIS_URL/)])
  })

  it('except that production by a word of the file is none if the prefix says otherwise', async () => {
    const { environment } = await environmentOf('LATCHKEY_NODE_ENV=test\nNODE_ENV=production\nJWT_SECRET=one\n')
    expect(environment).toEqual({ NODE_ENV: 'test' })
  })
})
