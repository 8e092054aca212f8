import fc from 'fast-check'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { minutes } from '../../src/lib/durations.js'
import { addAuthenticator, replaceAuthenticator } from '../support/authenticator.js'
import { type Browser, createBrowser } from '../support/client.js'
import { createMovableClock, createWrongClock } from '../support/clock.js'
import { goodPassword, type Latchkey, startLatchkey } from '../support/latchkey.js'
import { inLongRun } from '../support/long-run.js'
import { addPasskey, type Passkey, signInWith } from '../support/passkey.js'
import {
  answerOf,
  comeBack,
  sessionCookiesOf,
  signInWith as signInAt,
  startProviders,
  type TestProviders,
} from '../support/providers/test-providers.js'
import { until } from '../support/until.js'

/**
 * A thief with a copied, fresh session makes these changes: two of them, and all of them in some orders. Then the owner takes
 * the account back, by each mail that came to the owner's address.
 */
const changes = [
  'passkey',
  'passkey',
  'totp',
  'totp',
  'provider',
  'email',
  'email',
  'username',
  'password',
  'language',
] as const
type Change = (typeof changes)[number]

const chosenPassword = 'amber-Meadow-27-kettle'
const stolenPassword = 'copper-Valley-38-saddle'
const rightClock = createMovableClock()

// Two instances of one service, on one database and one Redis, ten minutes apart.
let slow: Latchkey
let fast: Latchkey
let providers: TestProviders
beforeAll(async () => {
  providers = await startProviders()
  const shared = { ...providers.settings, FRESH_FOR: '1h' }
  slow = await startLatchkey({ settings: shared, clock: createWrongClock(-5 * minutes) })
  const { databaseUrl, redisUrl = '', redisPrefix } = slow.config
  const stores = { DATABASE_URL: databaseUrl, REDIS_URL: redisUrl, REDIS_PREFIX: redisPrefix }
  const settings = { ...shared, ...stores, JWT_SECRET: slow.app.platform.secrets.join(','), PUBLIC_URL: slow.url }
  fast = await startLatchkey({ settings, clock: createWrongClock(5 * minutes) })
  // All mails are in one mailbox.
  await fast.app.rooms.mails.stop()
})
afterAll(async () => {
  await fast.stop()
  await slow.stop()
  await providers.close()
})

const open = (turn: number, jar?: Browser['jar']) =>
  createBrowser(`http://localhost:${(turn % 2 === 0 ? slow : fast).config.port}`, jar)

const login = (username: string, password: string) =>
  open(0)
    .post('/login', { username, password })
    .then(({ status }) => status)

const succeed = async (what: string, answer: Promise<{ status: number; text: string }>) => {
  const { status, text } = await answer
  if (status >= 300) throw new Error(`${what}: ${status} ${text}`)
}

/** Mails that wait are sent, so that what is in the mailbox is all there is. */
const mailsTo = async (name: string) => {
  const waiting = () =>
    slow.sql.query(
      `select 1 from outgoing_mail as m join users as u on u.id = m.user_id
       where u.email_key like $1 || '@%' and m.next_attempt_at is not null`,
      [name],
    )
  await until('every mail is sent', async () => {
    slow.app.rooms.mails.nudge()
    return (await waiting()).length === 0
  })
  // The newest comes first.
  return slow
    .mails()
    .filter(({ to }) => to.startsWith(`${name}@`))
    .toReversed()
}

const linksIn = (mails: readonly { to: string; text: string }[], page: string) =>
  mails.flatMap(({ to, text }) => {
    const token = new RegExp(`/${page}#token=([\\w-]+)`).exec(text)?.[1]
    return token === undefined ? [] : [{ to, token }]
  })

const undo = (token: string, turn: number, password?: string) =>
  open(turn).post(`/api/auth/${token.startsWith('email-') ? 'email' : 'factors'}/undo`, {
    token,
    ...(password !== undefined && { password }),
  })

let accounts = 0

/** What the thief gets, and how each thing is used. */
const createTheft = async () => {
  accounts += 1
  const number = accounts
  const name = `user${number}`
  const { newUsers, passwords } = slow.app.rooms
  const passwordHash = await passwords.hash(goodPassword, { ip: '' })
  if (typeof passwordHash !== 'string') throw new Error('The password could not be hashed')
  const email = `${name}@example.com`
  const created = await slow.sql.transaction((sql) =>
    newUsers.create(sql, {
      email: { email, key: email },
      username: { username: name, key: name },
      name: null,
      passwordHash,
    }),
  )
  if ('refused' in created) throw new Error(created.refused)
  const owner = open(0)
  await succeed('the sign-in', owner.post('/login', { username: name, password: goodPassword }))
  const { jar } = owner.copy()
  const passkeys: Passkey[] = []
  const addresses: string[] = []
  const theft = { password: goodPassword, username: name, isLinked: false, hasApp: false }
  const identity = { id: 1000 + number, login: `thief${number}` }
  const atProvider = () =>
    providers.github.become(identity, [{ email: `${name}@thief.example`, primary: true, verified: true }])

  const make: Record<Change, (tab: Browser) => Promise<unknown>> = {
    passkey: async (tab) => passkeys.push((await addPasskey(tab, slow.url)).passkey),
    totp: async (tab) => {
      await (theft.hasApp ? replaceAuthenticator : addAuthenticator)(tab, { clock: rightClock })
      theft.hasApp = true
    },
    provider: async (tab) => {
      atProvider()
      const { body } = await tab.act('/api/auth/providers/provider-b/link', {})
      await comeBack(tab, await answerOf(String(body.location)))
      await succeed('the link', tab.act('/api/auth/providers/provider-b/link/finish', {}))
      theft.isLinked = true
    },
    email: async (tab) => {
      const address = `${name}@thief${addresses.length}.example`
      addresses.push(address)
      await succeed('a new address', tab.act('/api/auth/email', { email: address }))
      const [link] = linksIn(
        (await mailsTo(name)).filter(({ to }) => to === address),
        'confirm-email',
      )
      await succeed('its proof', tab.post('/api/auth/email/confirm', { token: link?.token }))
    },
    username: async (tab) => {
      theft.username = `thief-${name}`
      await succeed(
        'a new username',
        tab.send('PATCH', '/api/auth/account', { username: theft.username }, { csrf: true }),
      )
    },
    language: (tab) =>
      succeed('a new language', tab.send('PATCH', '/api/auth/account', { language: 'de' }, { csrf: true })),
    password: async (tab) => {
      await succeed(
        'a new password',
        tab.act('/api/auth/change-password', { currentPassword: theft.password, newPassword: stolenPassword }),
      )
      theft.password = stolenPassword
    },
  }

  /** Everything that the thief holds at the end and that still works. */
  const whatWorks = async (turn: number) => {
    const signIns = await Promise.all(
      [...new Set([name, theft.username, email, ...addresses])].flatMap((typed) =>
        [...new Set([goodPassword, theft.password])].map(async (password) =>
          (await login(typed, password)) === 401 ? [] : [typed],
        ),
      ),
    )
    const byPasskey = await Promise.all(
      passkeys.map(async (passkey) => ((await signInWith(open(turn), passkey)).status === 401 ? [] : ['passkey'])),
    )
    const session = (await open(turn, jar).post('/api/auth/refresh')).status === 401 ? [] : ['session']
    if (!theft.isLinked) return [...signIns, ...byPasskey, session].flat()
    atProvider()
    const visitor = open(turn)
    const cookies = sessionCookiesOf(await signInAt(visitor, 'provider-b'))
    const { body } = await visitor.get('/api/auth/me')
    const isTheOwner = (body.user as { id?: string } | undefined)?.id === created.id
    return [...signIns, ...byPasskey, session, isTheOwner && cookies.length > 0 ? ['provider'] : []].flat()
  }

  return { name, email, id: created.id, jar, make, addresses, whatWorks }
}

/** Plays a theft to its end: the owner uses the mail with the number `way`. Returns how many mails the owner got. */
const play = async (order: readonly Change[], way: number, turn: number) => {
  const { name, email, id, jar, make, addresses, whatWorks } = await createTheft()
  for (const [at, change] of order.entries()) await make[change](open(turn + at, jar))
  const atThief = addresses.at(-1)
  if (atThief !== undefined) {
    await open(turn).post('/reset-password', { email: atThief })
    await succeed('one more address', open(turn, jar).act('/api/auth/email', { email: `${name}@thief9.example` }))
  }
  const before = await mailsTo(name)
  const ofOwner = linksIn(before, 'undo').filter(({ to }) => to === email)
  const used = ofOwner[way]
  if (!used) throw new Error(`The owner got ${ofOwner.length} mails after ${order.join()}`)

  const password = turn % 3 === 0 ? undefined : chosenPassword
  expect((await undo(used.token, turn, password)).status).toBe(204)
  const after = (await mailsTo(name)).slice(before.length)

  expect(await whatWorks(turn)).toEqual([])
  const [user] = await slow.sql.query(
    `select email, username, language, (select count(*) from passkeys where user_id = id) as passkeys,
       (select count(*) from identities where user_id = id) as identities,
       (select count(*) from totp_secrets where user_id = id) as totp,
       (select count(*) from undos where user_id = id) as undos,
       (select count(*) from email_changes where user_id = id) as waiting from users where id = $1`,
    [id],
  )
  const empty = { passkeys: 0, identities: 0, totp: 0, undos: 0, waiting: 0 }
  expect(user).toEqual({ email, username: name, language: 'en', ...empty })
  // Nothing goes to an address of the thief but the notice, and the way back goes to the owner only.
  const reset = linksIn(after, 'reset-password')
  expect(reset.map(({ to }) => to)).toEqual(password === undefined ? [email] : [])
  expect(after.map(({ to }) => to).toSorted()).toEqual([email, ...(atThief === undefined ? [] : [atThief])].toSorted())

  const dead = [
    ...linksIn(before, 'undo').map(({ token }) => undo(token, turn, stolenPassword)),
    ...linksIn(before, 'reset-password').map(({ token }) =>
      open(turn).post('/api/auth/reset-password/confirm', { token, password: stolenPassword }),
    ),
    ...linksIn(before, 'confirm-email').map(({ token }) =>
      open(turn).post('/api/auth/email/confirm', { token, password: stolenPassword }),
    ),
  ]
  expect([...new Set((await Promise.all(dead)).map(({ status }) => status))]).toEqual([400])

  if (password === undefined)
    await succeed(
      'the reset',
      open(turn).post('/api/auth/reset-password/confirm', { token: reset[0]?.token, password: chosenPassword }),
    )
  expect([await login(name, chosenPassword), await login(email, chosenPassword)]).toEqual([200, 200])
  return ofOwner.length
}

// A language is like a username. The second app replaces the first: it needs another change in between.
const paired = changes.filter(
  (change, at) => change !== 'language' && (change !== 'totp' || changes[at - 1] !== 'totp'),
)
const allPairs = paired
  .flatMap((first, at) => paired.filter((_, other) => other !== at).map((second) => [first, second] as const))
  .filter((pair, at, all) => all.findIndex((other) => other.join() === pair.join()) === at)
/** Each change once. */
const fewPairs: typeof allPairs = [
  ['passkey', 'passkey'],
  ['totp', 'provider'],
  ['email', 'email'],
  ['username', 'password'],
]
const pairs = inLongRun(allPairs, fewPairs)

it('after two changes of a thief, each mail to the owner takes everything back', async () => {
  let turn = 0
  for (const pair of pairs) {
    let ways = 1
    for (let way = 0; way < ways; way += 1) {
      ways = await play(pair, way, turn)
      turn += 1
    }
  }
})

it('after all changes of a thief, in any order, a mail to the owner takes everything back', async () => {
  let turn = 0
  const orders = fc.shuffledSubarray([...changes], { minLength: changes.length })
  for (const order of fc.sample(orders, { numRuns: inLongRun(6, 2), seed: 20 })) {
    turn += 1
    // There are always two mails about the first new address.
    expect(await play(order, turn % 2, turn)).toBeGreaterThan(1)
  }
})
