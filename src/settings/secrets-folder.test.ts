import { mkdir, mkdtemp, rm, symlink, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { type ConfigurationFaults, likelyTypos, loadConfig, readEnvironment } from './config.js'
import { readSecretsFolders } from './secrets.js'

const signing = 'f3a1c9e07b5d482693ae10cf7d86b24e5908d1f7a63bc4e2971d05f8ab36c7e4'
const sealing = '07b5d482693ae10cf7d86b24e5908d1f7a63bc4e2971d05f8ab36c7e4f3a1c9e'

let folder: string
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'latchkey-secrets-'))
  const files = {
    jwt_secret: signing,
    sealing_key: sealing,
    webhook_url: 'https://app.example.com/hook',
    webhook_secret: `whsec_${Buffer.alloc(32, 'k').toString('base64')}`,
    provider_okta_client_secret: 'the secret of okta',
    service_keys: '# none yet\n',
    'jwt_secret~': 'an old one',
    jwt_secert: 'misspelt',
  }
  for (const [name, text] of Object.entries(files)) await writeFile(join(folder, name), `${text}\n`)
  // As Kubernetes mounts a Secret: each name is a link into a hidden folder.
  await mkdir(join(folder, '..data'))
  await writeFile(join(folder, '..data', 'redis_url'), 'redis://:pw@cache.example.com\n')
  await symlink(join('..data', 'redis_url'), join(folder, 'redis_url'))
})
afterAll(() => rm(folder, { recursive: true }))

const okta = {
  PROVIDERS: 'okta',
  PROVIDER_OKTA_ISSUER: 'https://example.okta.com',
  PROVIDER_OKTA_CLIENT_ID: 'client',
}
const noFile = () => join(folder, 'none.env')

it.each(['SECRETS_DIR', 'CREDENTIALS_DIRECTORY'])(
  'takes every file of %s as the setting that its name says',
  (name) => {
    const { environment: env } = readEnvironment(noFile(), { NODE_ENV: 'test', [name]: folder, ...okta })
    const config = loadConfig(env)
    expect(config).toMatchObject({
      jwtSecret: [signing],
      sealingKey: [sealing],
      webhookUrl: 'https://app.example.com/hook',
      redisUrl: 'redis://:pw@cache.example.com',
      serviceKeysFile: join(folder, 'service_keys'),
    })
    expect(JSON.stringify(config.providers)).toContain('the secret of okta')
    expect(likelyTypos(env)).toEqual([
      `the file ${join(folder, 'jwt_secert')} is not read: its name is not a setting; did you mean jwt_secret?`,
    ])
  },
)

it('leaves alone what is set in another way', () => {
  const given = { SECRETS_DIR: folder, JWT_SECRET: sealing, SERVICE_KEYS_FILE: '/elsewhere' }
  const { environment: env } = readEnvironment(noFile(), { NODE_ENV: 'test', ...given, ...okta })
  expect(loadConfig(env)).toMatchObject({ jwtSecret: [sealing], serviceKeysFile: '/elsewhere' })
})

it('says with each missing secret where it was looked for, and which files have a name that is not read', async () => {
  const other = await mkdtemp(join(tmpdir(), 'latchkey-secrets-'))
  for (const name of ['jwt_secret.txt', 'smpt_url', 'redis_url', 'redis_url~', 'notes'])
    await writeFile(join(other, name), `${signing}\n`)
  const { environment: env } = readEnvironment(noFile(), {
    NODE_ENV: 'production',
    SECRETS_DIR: other,
    DATABASE_URL: 'postgres://latchkey@127.0.0.1/latchkey',
    TRUST_PROXI: '127.0.0.1',
  })
  const said = () => loadConfig(env)
  expect(said).toThrow(
    `JWT_SECRET: must be set in production with DATABASE_URL; there is no file jwt_secret in ${other}\n`,
  )
  expect(said).toThrow(/^PUBLIC_URL: must be set in production$/m)
  const typos = [
    'TRUST_PROXI is not a setting; did you mean TRUST_PROXY?',
    `the file ${join(other, 'jwt_secret.txt')} is not read: its name is not a setting; did you mean jwt_secret?`,
    `the file ${join(other, 'smpt_url')} is not read: its name is not a setting; did you mean smtp_url?`,
  ]
  expect(said).toThrow(typos.join('\n'))
  expect(likelyTypos(env)).toEqual(typos)
  await rm(other, { recursive: true })
})

it('says which folder cannot be read', () => {
  const path = join(folder, 'nowhere')
  try {
    readEnvironment(noFile(), { SECRETS_DIR: path })
    expect.unreachable()
  } catch (error) {
    const { faults } = error as ConfigurationFaults
    expect(faults).toEqual([`SECRETS_DIR: the folder cannot be read: ${path} (there is no such file)`])
  }
})

it('takes names in large letters, and refuses two files for one setting', async () => {
  const other = await mkdtemp(join(tmpdir(), 'latchkey-secrets-'))
  await writeFile(join(other, 'JWT_SECRET'), signing)
  const { environment: env } = readEnvironment(noFile(), { NODE_ENV: 'test', SECRETS_DIR: other })
  expect(loadConfig(env)).toMatchObject({ jwtSecret: [signing] })

  await writeFile(join(other, 'jwt_secret'), signing)
  expect(readSecretsFolders({ SECRETS_DIR: other }).faults).toEqual([
    'SECRETS_DIR: the folder has two files for JWT_SECRET',
  ])
  await rm(other, { recursive: true })
})
