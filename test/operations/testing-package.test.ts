import { execFile } from 'node:child_process'
import { cp, mkdir, mkdtemp, rm, symlink, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { expect, it, onTestFinished } from 'vitest'

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
  import { createClient } from '@latchkey/client'
  import { createServiceClient } from '@latchkey/service'
  import { startLatchkey } from '@latchkey/testing'
  import { createTestKeys } from '@latchkey/testing/keys'
  import { createVerifier } from '@latchkey/verify'
  const seen = {}
  const asked = (cookie) => new Request('http://localhost/', { headers: { cookie } })

  const latchkey = await startLatchkey({ settings: { ACCESS_TOKEN_ALGORITHM: 'ES256', REFRESH_TOKEN_LIFETIME: '1h' } })
  const { url } = latchkey
  const ada = await latchkey.addUser({ username: 'ada', groups: ['staff'] })
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

  await createClient({ baseUrl: url, fetch }).resetPassword({ email: ada.email })
  seen.link = (await latchkey.mailTo(ada.email, /password/)).link.startsWith(url + '/reset-password#token=')
  seen.listed = (await createServiceClient({ url, key: latchkey.serviceKey }).users.findByEmail(ada.email)).groups
  await latchkey.addUser({ username: 'ada' }).catch((error) => { seen.twice = error.message })
  await latchkey.close()
  await startLatchkey({ settings: { NODE_ENV: 'production' } }).catch(() => { seen.production = 'refused' })
  const elsewhere = { DATABASE_URL: 'postgres://127.0.0.1:9/other', REDIS_URL: 'redis://127.0.0.1:9' }
  await startLatchkey({ settings: elsewhere }).catch((error) => { seen.elsewhere = error.message })

  const publicUrl = 'https://auth.example.com'
  const keys = await createTestKeys({ publicUrl })
  const offline = createVerifier({ publicUrl, jwks: true, fetch: keys.fetch })
  const known = await offline.verify(asked(await keys.cookie({ groups: ['staff', 'admins'], factors: 2 })))
  seen.known = [known.factors, known.groups]
  seen.expired = (await offline.verify(asked(await keys.cookie({ lifetime: -1 })))).code
  console.log(JSON.stringify(seen))
`

it('gives the test of an application a real service: users, cookies, mails, time, and keys without a service', async () => {
  const folder = await installed()
  await writeFile(join(folder, 'test.mjs'), test)
  const { stdout } = await promisify(execFile)(process.execPath, ['test.mjs'], { cwd: folder })
  expect(JSON.parse(stdout)).toEqual({
    cookies: ['access_token', 'refresh_token', 'known_device'].map((name) => [name, 'localhost', true]),
    user: [true, 'ada', ['staff']],
    later: 'expired',
    eve: 'person-2@example.com',
    eveLater: 'not_authenticated',
    link: true,
    listed: ['staff'],
    twice: 'The user was not added: email_taken',
    production: 'refused',
    elsewhere: 'DATABASE_URL, REDIS_URL: a service for tests has its own',
    known: [2, ['admins', 'staff']],
    expired: 'expired',
  })
})
