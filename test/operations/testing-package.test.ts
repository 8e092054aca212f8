import { execFile } from 'node:child_process'
import { randomUUID } from 'node:crypto'
import { cp, mkdir, mkdtemp, rm, symlink, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { expect, it, onTestFinished } from 'vitest'
import { createVerifier } from '#verify/verifier.js'
import { createTestKeys, type TestTokenOptions } from '../../packages/testing/src/keys.js'
import { newServiceKey } from '../../src/programs/service-keys.js'

const home = fileURLToPath(new URL('../..', import.meta.url))

/** A project that has installed the program and its packages. Copied, because a link would be followed to a place without them. */
const installed = async () => {
  const folder = await mkdtemp(join(tmpdir(), 'latchkey-testing-'))
  onTestFinished(() => rm(folder, { recursive: true }))
  await mkdir(join(folder, 'node_modules/@latchkey'), { recursive: true })
  await symlink(home, join(folder, 'node_modules/latchkey'))
  for (const name of ['testing', 'verify', 'service', 'client'])
    await cp(join(home, 'packages', name), join(folder, 'node_modules/@latchkey', name), { recursive: true })
  return folder
}

const test = `
  import { createServer } from 'node:http'
  import { readdir } from 'node:fs/promises'
  import { createClient } from '@latchkey/client'
  import { createServiceClient } from '@latchkey/service'
  import { startLatchkey } from '@latchkey/testing'
  import { createTestKeys } from '@latchkey/testing/keys'
  import { createVerifier } from '@latchkey/verify'
  const seen = {}
  const asked = (cookie) => new Request('http://localhost/', { headers: { cookie } })

  const refusal = async (work) => work().then(() => 'accepted', (error) => error.message)

  const hooks = []
  const receiver = createServer(async (request, response) => {
    hooks.push(JSON.parse(Buffer.concat(await request.toArray()).toString()))
    response.end()
  })
  await new Promise((resolve) => receiver.listen(0, '127.0.0.1', resolve))
  const hook = async (count) => {
    const begin = performance.now()
    while (hooks.length < count) await new Promise((resolve) => setTimeout(resolve, 20))
    return performance.now() - begin
  }

  const settings = {
    ACCESS_TOKEN_ALGORITHM: 'ES256',
    REFRESH_TOKEN_LIFETIME: '1h',
    SERVICE_KEYS_FILE: 'keys-of-test',
    WEBHOOK_URL: 'http://127.0.0.1:' + receiver.address().port,
    WEBHOOK_SECRET: 'whsec_' + Buffer.alloc(32, 7).toString('base64'),
    WEBHOOK_ALLOW_PRIVATE: 'true',
  }
  const latchkey = await startLatchkey({ settings })
  const { url } = latchkey
  const ada = await latchkey.addUser({ username: 'ada', groups: ['staff'] })
  seen.toldAtOnce = (await hook(1)) < 2500 && hooks[0].data.user.username === 'ada'
  const { cookie, cookies } = await latchkey.signIn(ada)
  seen.cookies = cookies.map(({ name, domain, httpOnly }) => [name, domain, httpOnly])
  const verifier = createVerifier({ publicUrl: url, jwks: true, now: () => latchkey.now().getTime() })
  const { user, groups } = await verifier.verify(asked(cookie))
  seen.user = [user.id === ada.id, user.username, groups]
  await latchkey.advance('16m')
  seen.later = (await verifier.verify(asked(cookie))).code

  const eve = await latchkey.addUser({ twoStep: true })
  await latchkey.signIn(eve)
  const again = await latchkey.signIn(eve)
  const client = createClient({ baseUrl: url, fetch: again.fetch })
  seen.eve = (await client.account()).value.user.email
  await latchkey.advance('2h')
  seen.eveLater = (await client.me()).refused
  const told = hooks.length
  await latchkey.addUser()
  await hook(told + 1)
  seen.toldLater = Math.round((Date.parse(hooks.at(-1).timestamp) - Date.now()) / 3600_000)

  await createClient({ baseUrl: url, fetch }).resetPassword({ email: ada.email })
  seen.link = (await latchkey.mailTo(ada.email, /password/)).link.startsWith(url + '/reset-password#token=')
  seen.listed = (await createServiceClient({ url, key: latchkey.serviceKey }).users.findByEmail(ada.email)).groups
  const ofTest = createServiceClient({ url, key: process.env.KEY_OF_TEST })
  seen.ownKey = (await ofTest.users.findByEmail(ada.email)).username
  seen.twice = await refusal(() => latchkey.addUser({ username: 'ada' }))
  seen.group = await refusal(() => latchkey.addUser({ groups: ['Not OK!'] }))
  seen.property = await refusal(() => latchkey.addUser({ user: 'ada' }))
  await latchkey.close()
  receiver.close()
  const strict = await startLatchkey({ settings: { SECOND_FACTOR: 'required', TERMS_VERSION: '1', TERMS_URL: '/terms' } })
  const plain = await strict.addUser({ username: 'plain' })
  const enrolled = await strict.signIn(await strict.addUser({ twoStep: true }))
  const strictClient = createClient({ baseUrl: strict.url, fetch: enrolled.fetch })
  seen.strict = [await refusal(() => strict.signIn(plain)), (await strictClient.account()).value.user.username]
  await strict.close()
  const elsewhere = { DATABASE_URL: 'postgres://127.0.0.1:9/other', REDIS_URL: 'redis://127.0.0.1:9' }
  for (const settings of [{ NODE_ENV: 'production' }, elsewhere, { PORTT: '3000' }, { PUBLIC_ULR: url }])
    seen[Object.keys(settings)[0]] = (await refusal(() => startLatchkey({ settings }))).split('\\n')[0]
  seen.setings = await refusal(() => startLatchkey({ setings: {} }))
  seen.left = await readdir('temporary')

  const publicUrl = 'https://auth.example.com'
  const keys = await createTestKeys({ publicUrl })
  const offline = createVerifier({ publicUrl, jwks: true, fetch: keys.fetch })
  const known = await offline.verify(asked(await keys.cookie({ groups: ['staff', 'admins'], factors: 2 })))
  seen.known = [known.factors, known.groups]
  seen.expired = (await offline.verify(asked(await keys.cookie({ lifetime: -1 })))).code
  let asks = 0
  const counted = (...request) => { asks += 1; return keys.fetch(...request) }
  const revocations = { serviceKey: 'for-a-service-that-is-not-there' }
  const following = createVerifier({ publicUrl, jwks: true, fetch: counted, revocations })
  await following.ready()
  seen.following = [(await following.verify(asked(await keys.cookie()))).ok, following.revocations().entries, asks]
  following.close()
  console.log(JSON.stringify(seen))
`

it('gives the test of an application a real service: users, cookies, mails, time, and keys without a service', async () => {
  const folder = await installed()
  const { key, line } = newServiceKey('of-test', { scopes: ['users:read'] })
  await writeFile(join(folder, 'keys-of-test'), `${line}\n`)
  await writeFile(join(folder, 'test.mjs'), test)
  await mkdir(join(folder, 'temporary'))
  const env = { ...process.env, TMPDIR: 'temporary', KEY_OF_TEST: key }
  const { stdout } = await promisify(execFile)(process.execPath, ['test.mjs'], { cwd: folder, env })
  expect(JSON.parse(stdout)).toEqual({
    cookies: ['access_token', 'refresh_token', 'known_device'].map((name) => [name, 'localhost', true]),
    user: [true, 'ada', ['staff']],
    later: 'expired',
    eve: 'person-2@example.com',
    eveLater: 'not_authenticated',
    link: true,
    listed: ['staff'],
    ownKey: 'ada',
    toldAtOnce: true,
    toldLater: 2,
    twice: 'The user ada with the address ada@example.com was not added: email_taken',
    group: 'groups: Not OK! is no name of a group: up to 32 small letters, digits, dots, underscores and hyphens',
    property: 'user: is no option of addUser',
    setings: 'setings: is no option of startLatchkey',
    NODE_ENV: expect.stringMatching(/must be set/),
    DATABASE_URL: 'DATABASE_URL, REDIS_URL: a service for tests has its own',
    PORTT: 'PORTT is not a setting',
    PUBLIC_ULR: 'PUBLIC_ULR is not a setting; did you mean PUBLIC_URL?',
    left: [],
    strict: ['plain needs a second factor (SECOND_FACTOR): add the user with twoStep: true', 'person-2'],
    following: [true, 0, 3],
    known: [2, ['admins', 'staff']],
    expired: 'expired',
  })
})

it('refuses to make keys and tokens that no guard would accept, and says why', async () => {
  const keys = await createTestKeys({ publicUrl: 'https://auth.example.com' })
  const wrong: [object, RegExp][] = [
    [{ id: 'u1' }, /^id: must be a UUID/],
    [{ sessionId: 's1' }, /^sessionId: must be a UUID/],
    [{ groups: ['Admins x'] }, /^groups: must be at most 16 names/],
    [{ groups: 'admins' }, /^groups: /],
    [{ lifetime: 3600 }, /^lifetime: .* to 900$/],
    [{ age: -1 }, /^age: /],
    [{ factors: 3 }, /^factors: must be 1 or 2/],
    [{ username: '' }, /^username: must be a text/],
    [{ username: 'x'.repeat(500), name: 'x'.repeat(500) }, /^The token has more than 2048 characters/],
    [{ usernam: 'x' }, /^usernam: is no option of a token/],
  ]
  for (const [options, message] of wrong)
    await expect(keys.cookie(options as TestTokenOptions), JSON.stringify(options)).rejects.toThrow(message)
  const verifier = createVerifier({ publicUrl: 'https://auth.example.com', jwks: true, fetch: keys.fetch })
  const longest = { username: 'x'.repeat(64), name: 'x'.repeat(64), groups: Array(16).fill('x'.repeat(32)) }
  const edges: TestTokenOptions[] = [longest, { age: 365 * 86_400, lifetime: 900 }, { id: randomUUID() }]
  for (const options of edges) expect(await verifier.verifyToken(await keys.token(options))).toMatchObject({ ok: true })
  for (const options of [undefined, {}, { publicUrl: 'auth.example.com' }])
    await expect(createTestKeys(options as { publicUrl: string })).rejects.toThrow('publicUrl: must be the URL')
  await expect(createTestKeys({ url: 'https://a.example' } as never)).rejects.toThrow('url: is no option')
})
