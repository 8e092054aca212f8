import {
  createCipheriv,
  createDecipheriv,
  createHash,
  createHmac,
  hkdfSync,
  randomBytes,
  randomUUID,
} from 'node:crypto'
import { readFile } from 'node:fs/promises'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { addAuthenticator } from '../support/authenticator.js'
import type { Browser } from '../support/client.js'
import { createEmailChanges } from '../support/email-changes.js'
import { goodPassword, type Latchkey, startLatchkey } from '../support/latchkey.js'
import { openidApplication } from '../support/openid-application.js'

// The names of the purposes of derived keys, and the texts that are signed, are stored formats: browsers, rows and applications keep what
// was made with them over an upgrade. So everything here is computed by the test itself, from two fixed secrets.

const JWT_SECRET = 'a-fixed-secret.Q7mZ2xLp9VtRw4Yc8Nb6Jd1Hs5Gf3Kk0Tq-and-some-more-Xv7Bn2'
const SEALING_KEY = 'a-fixed-sealing-key.P3kR8wZt5Yc1Nb7Jd9Hs2Gf6Lq4Xv0Mm-and-some-more-Cx8Vn'
const settings = { JWT_SECRET, SEALING_KEY, PROVIDER_B_CLIENT_ID: 'b', PROVIDER_B_CLIENT_SECRET: 'secret of b' }

let latchkey: Latchkey
let changes: ReturnType<typeof createEmailChanges>
beforeAll(async () => {
  latchkey = await startLatchkey({ settings })
  changes = createEmailChanges(latchkey)
})
afterAll(() => latchkey.stop())

const keyOf = (purpose: string, secret = JWT_SECRET) => Buffer.from(hkdfSync('sha256', secret, '', purpose, 32))
const keyId = (purpose: string, secret: string) => keyOf(purpose, secret).toString('base64url').slice(0, 8)
const mac = (purpose: string, ...parts: (string | Uint8Array)[]) => {
  const hmac = createHmac('sha256', keyOf(purpose))
  for (const part of parts) hmac.update(part)
  return hmac.digest()
}

/** Version 1 of a sealed text: a byte, 12 of a nonce, the text in AES-256-GCM, and 16 of the tag. */
const seal = (purpose: string, text: string) => {
  const nonce = randomBytes(12)
  const cipher = createCipheriv('aes-256-gcm', keyOf(purpose), nonce).setAAD(Buffer.from('1 '))
  const sealed = [Buffer.of(1), nonce, cipher.update(text, 'utf8'), cipher.final()]
  return Buffer.concat([...sealed, cipher.getAuthTag()]).toString('base64url')
}
const open = (sealed: string, key: Buffer, boundTo = '') => {
  const bytes = Buffer.from(sealed, 'base64url')
  expect(bytes[0]).toBe(1)
  const decipher = createDecipheriv('aes-256-gcm', key, bytes.subarray(1, 13)).setAAD(Buffer.from(`1 ${boundTo}`))
  decipher.setAuthTag(bytes.subarray(-16))
  return Buffer.concat([decipher.update(bytes.subarray(13, -16)), decipher.final()]).toString('utf8')
}

/** Eight letters that look unlike each other, four bytes of the digest for each. */
const codeFor = (id: string) => {
  const digest = mac('mailed code', id)
  const letters = 'ABCDEFGHJKMNPQRSTUVWXYZ23456789'
  const code = Array.from({ length: 8 }, (_, at) => letters[digest.readUInt32BE(4 * at) % letters.length]).join('')
  return `${code.slice(0, 4)}-${code.slice(4)}`
}

const claimsOf = (token = '') => JSON.parse(Buffer.from(token.split('.')[1] ?? '', 'base64url').toString())
const headerOf = (token = '') => JSON.parse(Buffer.from(token.split('.')[0] ?? '', 'base64url').toString())
const signedWith = (secret: string, token = '') => {
  const [header, claims, signature] = token.split('.')
  return createHmac('sha256', secret).update(`${header}.${claims}`).digest('base64url') === signature
}
const userIdOf = async (name: string) => {
  const [row] = await latchkey.sql.query<{ id: string }>('select id from users where username = $1', [name])
  return String(row?.id)
}

it('a secret gives these keys, one for each purpose', async () => {
  const text = await readFile(new URL('./key-purposes.json', import.meta.url), 'utf8')
  const written = JSON.parse(text) as { secret: string; keys: Record<string, string> }
  const keys = Object.keys(written.keys).map((purpose) => [purpose, keyOf(purpose, written.secret).toString('hex')])
  expect(Object.fromEntries(keys)).toEqual(written.keys)
})

it('key id: tokens of sessions are signed with the secret itself, and name it', async () => {
  const tab = await latchkey.signedUp('ada')
  for (const name of ['access_token', 'refresh_token']) {
    expect(headerOf(tab.jar.get(name))).toMatchObject({ alg: 'HS256', kid: keyId('key id', JWT_SECRET) })
    expect(signedWith(JWT_SECRET, tab.jar.get(name))).toBe(true)
  }
})

/** What a CSRF token of this browser must be, if it is bound to this. */
const expectCsrf = async (tab: Browser, binding: string) => {
  const [nonce = '', signature] = (await tab.csrfToken()).split('.')
  expect(mac('csrf', `${nonce}.${tab.jar.get('csrf_secret')}.${binding}`).toString('base64url')).toBe(signature)
}

it('csrf: a token signs the nonce, the secret of the browser, and the session or the sign-in that waits', async () => {
  const tab = await latchkey.signedUp('bea')
  await expectCsrf(tab, claimsOf(tab.jar.get('access_token')).sid)
  await addAuthenticator(tab, latchkey)
  const waiting = latchkey.browser()
  expect((await waiting.post('/login', { username: 'bea', password: goodPassword })).status).toBe(202)
  await expectCsrf(waiting, `challenge ${waiting.jar.get('challenge')}`)
  await expectCsrf(latchkey.browser(), '')
})

it('mailed code: the code of a mail is that of its row, or of the link beside it', async () => {
  const tab = await latchkey.signedUp('cid')
  // Only an account without a password is asked for a code.
  await latchkey.sql.query("update users set password_hash = null where username = 'cid'")
  expect((await tab.act('/api/auth/step-up/mail')).status).toBe(202)
  const { text } = await latchkey.mailTo('cid@example.com', /code/i)
  const [row] = await latchkey.sql.query<{ id: string }>('select id from mailed_codes where user_id = $1', [
    await userIdOf('cid'),
  ])
  expect(text).toContain(codeFor(String(row?.id)))
  await changes.ask(tab, 'cid@example.org')
  const token = await changes.confirmToken('cid@example.org')
  const hash = createHash('sha256').update(token).digest('hex')
  expect((await latchkey.mailTo('cid@example.org', /Confirm/)).text).toContain(codeFor(`email change ${hash}`))
})

it('known device: the cookie has a nonce for the account, and proves it', async () => {
  const tab = await latchkey.signedUp('dan')
  await tab.post('/login', { username: 'dan', password: goodPassword })
  const value = Buffer.from((tab.jar.get('known_device') ?? '').split('.')[0] ?? '', 'base64url')
  const nonce = value.subarray(0, 16)
  const proof = mac('known device', `${await userIdOf('dan')} 0 `, nonce).subarray(0, 16)
  expect(value.subarray(16).toString('hex')).toBe(proof.toString('hex'))
})

it('typed names: a name that was typed is kept as a mark', async () => {
  await latchkey.browser().post('/login', { username: 'No.Such-Name', password: goodPassword })
  const mark = mac('typed names', 'no.such-name').toString('hex').slice(0, 12)
  const marks = await latchkey.sql.query('select 1 from events where name_mark = $1', [mark])
  expect(marks).toHaveLength(1)
})

it('outgoing mail: a mail that was written before the upgrade is sent', async () => {
  const content = { to: 'eva@example.com', from: 'Us <us@example.com>', subject: 'From before', text: 'a', html: 'b' }
  await latchkey.sql.query(
    `insert into outgoing_mail (id, recipient_key, recipient, kind, content, created_at, next_attempt_at)
     values ($1, 'eva@example.com', 'eva@example.com', 'welcome', $2, now(), now())`,
    [randomUUID(), seal('outgoing mail', JSON.stringify(content))],
  )
  // Any other mail wakes the sender.
  await latchkey.signedUp('eva')
  await latchkey.browser().post('/reset-password', { email: 'eva@example.com' })
  expect(await latchkey.mailTo('eva@example.com', /From before/)).toMatchObject({ text: 'a', html: 'b' })
})

it('provider attempt: a browser that is at a provider has its attempt in a cookie', async () => {
  const tab = latchkey.browser()
  expect((await tab.get('/api/auth/provider-b')).status).toBe(303)
  const [, sealed = ''] = [...tab.jar].find(([name]) => name.startsWith('attempt_')) ?? []
  const attempt = JSON.parse(open(sealed, keyOf('provider attempt')))
  expect(attempt).toMatchObject({ provider: 'provider_b', purpose: { kind: 'sign_in' } })
})

it('pending link: an identity that waits for the account page is linked after the upgrade', async () => {
  const tab = await latchkey.signedUp('fay')
  const { sid: sessionId, userId } = claimsOf(tab.jar.get('access_token'))
  const identity = { subject: '4711', email: 'fay@example.org', username: 'fay' }
  const link = { provider: 'provider_b', userId, sessionId, state: 'x', ...identity, expiresAt: Date.now() + 300_000 }
  tab.jar.set('pending_link', seal('pending link', JSON.stringify(link)))
  expect((await tab.act('/api/auth/providers/provider-b/link/finish', {})).status).toBe(204)
})

it('passkey challenge: the cookie is bound to the purpose, the challenge and the time', async () => {
  const tab = latchkey.browser()
  const { body } = await tab.post('/api/auth/passkey-login/options')
  const [, value = ''] = [...tab.jar].find(([name]) => name.startsWith('passkey_')) ?? []
  const [expiry = '', sealed = ''] = value.split('.')
  const bound = JSON.stringify(['sign_in', '', body.challenge, expiry])
  expect(open(sealed, keyOf('passkey challenge'), bound)).toBe('')
})

it('refresh tokens of applications have keys of their own, with ids of their own', async () => {
  const application = await openidApplication(latchkey)
  const { refresh_token } = await application.signIn(await latchkey.signedUp('gus'), { scope: 'openid offline_access' })
  const secret = keyOf('refresh tokens of applications').toString('base64url')
  expect(headerOf(refresh_token)).toMatchObject({ alg: 'HS256', typ: 'art+jwt', kid: keyId('key id', secret) })
  expect(signedWith(secret, refresh_token)).toBe(true)
})

it('sealed value, sealing key id: a stored secret names the key that sealed it, and is bound to its row', async () => {
  const tab = await latchkey.signedUp('hal')
  const { secret } = await addAuthenticator(tab, latchkey)
  const id = await userIdOf('hal')
  const [row] = await latchkey.sql.query<{ secret: string }>('select secret from totp_secrets where user_id = $1', [id])
  const [kid, sealed = ''] = String(row?.secret).split('.')
  expect(kid).toBe(keyId('sealing key id', SEALING_KEY))
  expect(open(sealed, keyOf('sealed value', SEALING_KEY), `totp_secrets.secret ${id}`)).toBe(secret)
})

// A request waits for its user over an upgrade, so the names of its parameters are stored, too.
it('a request of an application that waits has the same names as before', async () => {
  const application = await openidApplication(latchkey, { name: 'Patient' })
  const { sent } = await application.ask(latchkey.browser())
  const [redirectAddress, challenge] = ['redirect_uri', 'code_challenge'].map((name) => sent.parameters.get(name))
  expect(challenge).toMatch(/^[\w-]{43}$/)
  const rows = await latchkey.sql.query<{ parameters: object }>('select parameters from authorization_requests')
  expect(rows.map(({ parameters }) => parameters)).toContainEqual(
    expect.objectContaining({ redirectAddress, challenge, scopes: expect.any(Array), prompts: [] }),
  )
})
