import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { serviceScopes } from '#contract/service.js'
import { limiterNames } from '../../src/http/limiters.js'
import { newServiceKey } from '../../src/programs/service-keys.js'
import { signedUpInGroup } from '../support/administrators.js'
import { addApplication } from '../support/applications.js'
import { addAuthenticator } from '../support/authenticator.js'
import { parametersFor } from '../support/authorization-requests.js'
import { basic, postForm } from '../support/authorizations.js'
import { createBoundBrowser, newDeviceKey, signProof } from '../support/bound-browser.js'
import type { Browser } from '../support/client.js'
import { goodPassword, type Latchkey, startLatchkey } from '../support/latchkey.js'
import { mailLogin } from '../support/mail-login.js'
import { openidApplication } from '../support/openid-application.js'
import { freePort } from '../support/servers/server.js'

// A limiter that is declared and never counts holds nobody back, and no other test need see it. Each is counted here by a request that it
// is about. Then its counter is filled up, because some allow thousands, and the same request once more is one too many.

const apps = { confidential: { id: '', secret: '' }, device: { id: '', secret: '' } }
const program = newServiceKey('billing', { scopes: serviceScopes })
const otherPassword = 'copper-Lagoon-47-meadow'
const unknownToken = 'x'.repeat(43)

let folder: string
let metrics: string
let latchkey: Latchkey
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'latchkey-limiters-'))
  const SERVICE_KEYS_FILE = join(folder, 'keys')
  await writeFile(SERVICE_KEYS_FILE, `${program.line}\n`)
  const port = await freePort()
  metrics = `http://127.0.0.1:${port}/metrics`
  // The counters are in the database, where the test can see and fill them.
  const counters = { REDIS_URL: '', METRICS_PORT: String(port) }
  const settings = { ADMIN_GROUP: 'admins', MAIL_SIGN_IN: 'on', BOUND_SESSIONS: 'on', SERVICE_KEYS_FILE, ...counters }
  latchkey = await startLatchkey({ settings: { ...settings, CLIENT_DOCUMENTS: '127.0.0.1' } })
})
afterAll(async () => {
  await latchkey.stop()
  await rm(folder, { recursive: true })
})

type Seen = { status: number; body: Record<string, unknown> }
type Send = () => Promise<Seen>

let accounts = 0
const newAccount = async () => {
  accounts += 1
  const name = `user${accounts}`
  return { name, email: `${name}@example.com`, tab: await latchkey.signedUp(name) }
}
/** As a user who has been here with this browser. */
const known = async () => {
  const account = await newAccount()
  await account.tab.post('/login', { username: account.name, password: goodPassword })
  return account
}
const guess = (username: string, tab: Browser = latchkey.browser()) =>
  tab.post('/login', { username, password: 'wrong' })
const ofService =
  (path: string, method = 'GET', form?: Record<string, string>) =>
  async (): Promise<Seen> => {
    const headers = { authorization: `Bearer ${program.key}`, ...(form && { 'content-type': 'application/json' }) }
    const body = form && JSON.stringify(form)
    const answer = await fetch(new URL(`/api/service/${path}`, latchkey.url), {
      method,
      headers,
      ...(body && { body }),
    })
    const text = await answer.text()
    return { status: answer.status, body: text === '' ? {} : JSON.parse(text) }
  }
const userInfo = async (token: string): Promise<Seen> => {
  const headers = { authorization: `Bearer ${token}` }
  const answer = await fetch(`${latchkey.url}/api/auth/userinfo`, { headers })
  return { status: answer.status, body: (await answer.json().catch(() => ({}))) as Record<string, unknown> }
}
const authorize = (tab: Browser) =>
  tab.post('/api/auth/authorization', { parameters: parametersFor(apps.confidential.id) })
const askWithDocument = () =>
  latchkey.browser().post('/api/auth/authorization', { parameters: parametersFor('https://127.0.0.1/program.json') })
const beginDevice = () => postForm(latchkey.url, '/api/auth/device', { client_id: apps.device.id })
const register = () => {
  accounts += 1
  const name = `newcomer${accounts}`
  const form = { username: name, email: `${name}@example.com`, password: goodPassword }
  return latchkey.browser().post('/api/auth/register', form)
}
const askForMail = () => latchkey.browser().post(mailLogin, { email: 'somebody@example.com' })

const usedOf = async (name: string) => {
  const [row] = await latchkey.sql.query<{ used: number }>(
    'select coalesce(sum(used), 0)::int as used from counters where starts_with(key, $1)',
    [`${name}:`],
  )
  return row?.used ?? 0
}
/** Somebody with the cookies of a session that is bound to a device, and with another key. */
const copiedCookies = async () => {
  const { name } = await newAccount()
  const owner = createBoundBrowser(latchkey)
  await owner.post('/login', { username: name, password: goodPassword })
  const [session] = owner.device.sessions.values()
  if (!session) throw new Error('The session is not bound')
  const headers = {
    'sec-secure-session-id': session.id,
    'secure-session-response': signProof(newDeviceKey(), 'challenge'),
  }
  return () => owner.copy().send('POST', session.refreshUrl, undefined, { headers, byBrowser: true })
}
/** Codes are counted in a table of their own, so that a restart of a cache gives nobody further tries. */
const wrongCodes = async () => (await latchkey.sql.query('select 1 from wrong_codes where failures > 0')).length

const tooMany = '429 Too many requests'
const tooManyLogins = '429 Too many login attempts'
const waitOfProtocol = 'temporarily_unavailable'

/**
 * `refused`: the answer to one request more. `hidden`: the answer is the same, and only the metrics tell. `passes to`: the limit makes
 * another limiter count.
 */
type Way = {
  prepare: () => Promise<Send>
  refused: `${429 | 503} ${string}` | 'hidden' | { passesTo: () => Promise<number> }
}

const counted: Record<Exclude<(typeof limiterNames)[number], 'token_failures'>, Way> = {
  // Before there is any account.
  setup: {
    prepare: async () => () =>
      latchkey.browser().post('/api/auth/setup', {
        token: unknownToken,
        username: 'first',
        email: 'first@example.com',
        password: goodPassword,
      }),
    refused: tooMany,
  },
  login: { prepare: async () => () => guess('nobody'), refused: tooManyLogins },
  account: { prepare: async () => () => guess('nobody'), refused: tooManyLogins },
  device: {
    prepare: async () => {
      const { name, tab } = await known()
      return () => guess(name, tab)
    },
    refused: { passesTo: () => usedOf('account') },
  },
  known: {
    prepare: async () => {
      const { name, tab } = await known()
      return () => guess(name, tab)
    },
    refused: { passesTo: () => usedOf('account') },
  },
  sign_ins: {
    prepare: async () => {
      const { name: username } = await newAccount()
      return () => latchkey.browser().post('/login', { username, password: goodPassword })
    },
    refused: tooManyLogins,
  },
  known_sign_ins: {
    prepare: async () => {
      const { name: username, tab } = await known()
      return () => tab.copy().post('/login', { username, password: goodPassword })
    },
    refused: tooManyLogins,
  },
  network_sign_ins: {
    prepare: async () => {
      const { name: username } = await newAccount()
      return () => latchkey.browser().post('/login', { username, password: goodPassword })
    },
    refused: tooManyLogins,
  },
  network_mails: { prepare: async () => register, refused: 'hidden' },
  general: {
    prepare: async () => {
      const { tab } = await newAccount()
      return () => tab.get('/api/auth/account')
    },
    refused: tooMany,
  },
  session: {
    prepare: async () => {
      const { tab } = await newAccount()
      return () => tab.post('/api/auth/refresh')
    },
    refused: tooMany,
  },
  bound_refreshes: { prepare: async () => copiedCookies(), refused: '503 Temporarily unavailable' },
  refused_proofs: { prepare: async () => copiedCookies(), refused: 'hidden' },
  refused_proof_events: { prepare: async () => copiedCookies(), refused: 'hidden' },
  logout: {
    prepare: async () => {
      const { tab } = await newAccount()
      return () => tab.copy().act('/api/auth/logout')
    },
    refused: tooMany,
  },
  sensitive: {
    prepare: async () => () => latchkey.browser().post('/reset-password', { email: 'nobody@example.com' }),
    refused: '429 Too many attempts',
  },
  confirm: {
    prepare: async () => () => latchkey.browser().post('/api/auth/email/undo', { token: `email-${unknownToken}` }),
    refused: tooMany,
  },
  device_codes: {
    prepare: async () => {
      const { name: username, tab } = await known()
      await addAuthenticator(tab, latchkey)
      await tab.post('/login', { username, password: goodPassword })
      return () => tab.act('/api/auth/second-factor', { code: '000000' })
    },
    refused: { passesTo: wrongCodes },
  },
  mailed_codes: {
    prepare: async () => {
      const { name, tab } = await newAccount()
      await latchkey.sql.query('update users set password_hash = null where username = $1', [name])
      return () => tab.act('/api/auth/step-up/mail')
    },
    refused: tooMany,
  },
  mail_sign_ins: { prepare: async () => askForMail, refused: 'hidden' },
  network_mail_sign_ins: { prepare: async () => askForMail, refused: 'hidden' },
  account_changes: {
    prepare: async () => {
      const { tab } = await newAccount()
      let [currentPassword, newPassword] = [goodPassword, otherPassword]
      return async () => {
        const answer = await tab.act('/api/auth/change-password', { currentPassword, newPassword })
        ;[currentPassword, newPassword] = [newPassword, currentPassword]
        return answer
      }
    },
    refused: tooMany,
  },
  email_changes: {
    prepare: async () => {
      const { tab, name } = await newAccount()
      return () => tab.act('/api/auth/email', { email: `${name}@example.org` })
    },
    refused: tooMany,
  },
  administrators: {
    prepare: async () => {
      const { tab } = await signedUpInGroup(latchkey, 'root1', 'admins')
      return () => tab.get('/api/auth/admin/api/users')
    },
    refused: tooMany,
  },
  authorization_requests: {
    prepare: async () => {
      const { tab } = await newAccount()
      return () => authorize(tab)
    },
    refused: 'hidden',
  },
  posted_pages: {
    prepare: async () => async () => {
      const body = new URLSearchParams({ state: 'x' })
      const { status } = await fetch(`${latchkey.url}/api/auth/authorize`, { method: 'POST', body })
      return { status, body: {} }
    },
    refused: '429 undefined',
  },
  device_requests: { prepare: async () => beginDevice, refused: `429 ${waitOfProtocol}` },
  client_documents: { prepare: async () => askWithDocument, refused: tooMany },
  user_codes: {
    prepare: async () => {
      const { tab } = await newAccount()
      return () => tab.act('/api/auth/device/question', { code: 'BBBB-BBBB' })
    },
    refused: tooMany,
  },
  network_user_codes: {
    prepare: async () => {
      const { tab } = await newAccount()
      return () => tab.act('/api/auth/device/question', { code: 'BBBB-BBBB' })
    },
    refused: tooMany,
  },
  service: { prepare: async () => ofService('users/nobody'), refused: tooMany },
  service_sign_outs: {
    prepare: async () => {
      const { tab } = await newAccount()
      const { user } = (await tab.get('/api/auth/me')).body as { user: { id: string } }
      return ofService(`users/${user.id}/sign-out`, 'POST')
    },
    refused: tooMany,
  },
  service_revocations: { prepare: async () => ofService('revocations'), refused: tooMany },
  service_tokens: { prepare: async () => ofService('token', 'POST', { token: 'none' }), refused: tooMany },
  client_failures: {
    prepare: async () => () => {
      const form = { grant_type: 'authorization_code', code: 'none' }
      // Of a network that has failed too often, new applications are not looked up for a moment.
      const headers = { ...basic(apps.confidential.id, 'wrong'), 'x-forwarded-for': '198.51.100.9' }
      return postForm(latchkey.url, '/api/auth/token', form, headers)
    },
    refused: `429 ${waitOfProtocol}`,
  },
  application: {
    prepare: async () => () => {
      const form = { grant_type: 'refresh_token', refresh_token: 'none' }
      return postForm(latchkey.url, '/api/auth/token', form, basic(apps.confidential.id, apps.confidential.secret))
    },
    refused: `429 ${waitOfProtocol}`,
  },
  userinfo_refusals: { prepare: async () => () => userInfo('none'), refused: `429 ${waitOfProtocol}` },
  userinfo: {
    prepare: async () => {
      const { tab } = await newAccount()
      const { access_token } = await (await openidApplication(latchkey, { name: 'Wiki' })).signIn(tab)
      return () => userInfo(access_token)
    },
    refused: `429 ${waitOfProtocol}`,
  },
  ceiling_shares: { prepare: async () => beginDevice, refused: `429 ${waitOfProtocol}` },
  total_registrations: { prepare: async () => register, refused: tooMany },
  total_mails: { prepare: async () => register, refused: 'hidden' },
  total_newcomer_mails: { prepare: async () => register, refused: 'hidden' },
  total_mail_sign_ins: { prepare: async () => askForMail, refused: tooMany },
  total_authorization_requests: { prepare: async () => () => authorize(latchkey.browser()), refused: 'hidden' },
  total_client_documents: { prepare: async () => askWithDocument, refused: tooMany },
  total_device_requests: { prepare: async () => beginDevice, refused: `429 ${waitOfProtocol}` },
}

const rejections = async (name: string) => {
  const text = await (await fetch(metrics)).text()
  return Number(new RegExp(`^latchkey_limiter_rejections_total\\{limiter="${name}"\\} (\\d+)$`, 'm').exec(text)?.[1])
}
const summary = ({ status, body }: Seen) => `${status} ${String(body.error)}`

describe('a limiter counts, and refuses the request that is one too many', () => {
  it.each(Object.keys(counted) as (keyof typeof counted)[])('%s', async (name) => {
    if (name !== 'setup' && apps.device.id === '') {
      const device = { kind: 'native', home: 'tv.example:/', redirectAddresses: ['tv.example:/cb'] } as const
      apps.confidential = await addApplication(latchkey)
      apps.device = await addApplication(latchkey, { name: 'Tv', ...device, deviceFlow: true })
    }
    const { prepare, refused } = counted[name]
    await latchkey.sql.query('delete from counters')
    const send = await prepare()
    await latchkey.sql.query('delete from counters')
    const usual = await send()
    expect([summary(usual).startsWith('429'), (await usedOf(name)) > 0], summary(usual)).toEqual([false, true])
    if (typeof refused !== 'string') expect(await refused.passesTo()).toBe(0)
    const before = await rejections(name)
    await latchkey.sql.query('delete from counters where not starts_with(key, $1)', [`${name}:`])
    await latchkey.sql.query('update counters set used = 1000000000')
    const late = await send()
    if (typeof refused !== 'string') {
      expect(await refused.passesTo()).toBeGreaterThan(0)
      return
    }
    expect(summary(late)).toBe(refused === 'hidden' ? summary(usual) : refused)
    expect(await rejections(name)).toBe(before + 1)
  })

  it('and there is no other', () => {
    // That of wrong tokens is in the process: `personal-tokens.test.ts`.
    expect([...Object.keys(counted), 'token_failures'].sort()).toEqual([...limiterNames].sort())
  })
})
