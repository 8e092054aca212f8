import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { type Answer, type Change, createClient } from '#client/client.js'
import { minutes } from '../../src/lib/durations.js'
import { createPageFetch } from '../support/client.js'
import { createCookieJar } from '../support/cookie-jar.js'
import { goodPassword, type Latchkey, startLatchkey } from '../support/latchkey.js'

const providers = { PROVIDER_B_CLIENT_ID: 'b', PROVIDER_B_CLIENT_SECRET: 'secret of b' }

let latchkey: Latchkey
beforeAll(async () => {
  latchkey = await startLatchkey({ settings: providers })
})
afterAll(() => latchkey.stop())

/** A client with the cookies of a browser, everything that it sends, and answers that a test puts in the place of others. */
const openClient = (jar = createCookieJar()) => {
  const sent: string[] = []
  const instead = new Map<string, () => Response>()
  const send = createPageFetch(latchkey.url, jar)
  const fetch: typeof send = async (input, init) => {
    sent.push(`${init?.method} ${input}`)
    return instead.get(String(input))?.() ?? send(input, init)
  }
  const client = createClient({ fetch })
  const changes: Change[] = []
  client.onChange((change) => changes.push(change))
  const countOf = (path: string) => sent.filter((each) => each.endsWith(path)).length
  return { client, changes, countOf, instead, jar }
}

const signedIn = async (username: string) => openClient((await latchkey.signedUp(username)).jar)

const accepted = <Value>(answer: Answer<Value>) => {
  if (answer.refused) throw new Error(`refused: ${answer.refused}`)
  return answer.value
}

const tokenIn = async (email: string, pattern?: RegExp) => {
  const { text } = await latchkey.mailTo(email, pattern)
  return /#token=([\w-]+)/.exec(text)?.[1] ?? ''
}

describe('the client', () => {
  it('registers, confirms, resets, changes the password and deals with sessions', async () => {
    const { client, changes } = openClient()
    const email = 'ada@example.com'
    const newPassword = `${goodPassword}-2`
    expect(accepted(await client.passwordStrength({ password: 'ada', username: 'ada' })).strength.isStrong).toBe(false)
    expect(await client.register({ username: 'ada', email, password: 'short' })).toMatchObject({
      refused: 'password_rejected',
      ids: { errors: expect.arrayContaining(['length']) },
    })
    accepted(await client.register({ username: 'ada', email, password: goodPassword }))
    expect(accepted(await client.checkVerification()).state).toBe('waiting')
    expect(await client.login({ username: 'ada', password: goodPassword })).toMatchObject({
      refused: 'email_not_confirmed',
    })
    accepted(await client.resendVerification())
    await expect.poll(() => latchkey.mails().filter(({ to }) => to === email).length).toBe(2)
    const token = await tokenIn(email)
    expect(accepted(await client.checkVerification({ token })).state).toBe('waiting')
    expect(accepted(await client.verifyEmail({ token }))).toMatchObject({ user: { username: 'ada', email } })

    accepted(await client.changePassword({ currentPassword: goodPassword, newPassword }))
    const other = openClient()
    accepted(await other.client.login({ username: 'ada', password: newPassword }))
    expect(accepted(await client.account()).user.hasPassword).toBe(true)
    expect(accepted(await client.events()).events.map(({ kind }) => kind)).toContain('password_changed')
    const another = accepted(await client.sessions()).sessions.find(({ current }) => !current)
    accepted(await client.endSession(another?.id ?? ''))
    expect(await other.client.me()).toMatchObject({ refused: 'not_authenticated' })
    expect(other.changes).toMatchObject([
      { change: 'signed_in', by: 'this_tab' },
      { change: 'signed_out', by: 'answer' },
    ])

    expect(await client.linkProvider('provider_b', { returnTo: '/dashboard' })).toMatchObject({
      value: { location: expect.stringContaining('https://github.com/') },
    })
    expect(await client.finishLink('provider_b')).toMatchObject({ refused: 'nothing_to_link' })
    expect(await client.unlinkProvider('provider_b')).toMatchObject({ status: expect.any(Number) })
    accepted(await client.logoutAll())
    expect(changes).toMatchObject([
      { change: 'signed_in', user: { username: 'ada' }, by: 'this_tab' },
      { change: 'signed_out', user: null, by: 'this_tab' },
    ])

    accepted(await client.resetPassword({ email }))
    const reset = await tokenIn(email, /reset/i)
    expect(accepted(await client.checkReset({ token: reset })).username).toBe('ada')
    accepted(await client.confirmReset({ token: reset, password: goodPassword }))
    accepted(await client.login({ username: email, password: goodPassword }))
    accepted(await client.logout())
    expect(await client.me()).toMatchObject({ refused: 'not_authenticated', status: 401 })
  })

  it('renews expired tokens once for all its calls, and gets another CSRF token when the first is void', async () => {
    const { client, countOf, jar, changes } = await signedIn('bea')
    accepted(await client.me())
    await latchkey.advance(16 * minutes)
    const answers: Answer<unknown>[] = await Promise.all([client.me(), client.account(), client.sessions()])
    answers.forEach(accepted)
    expect(countOf('/api/auth/refresh')).toBe(1)

    const another = '00000000-0000-4000-8000-000000000000'
    const refused = { refused: 'fresh_sign_in_required', methods: ['password'] }
    expect(await client.endSession(another)).toMatchObject(refused)
    accepted(await client.stepUp({ password: goodPassword }))
    jar.delete('csrf_secret')
    expect(await client.endSession(another)).toMatchObject({ refused: 'not_found' })
    expect(countOf('/api/auth/csrf-token')).toBe(2)
    expect(changes).toEqual([])
  })

  it('never takes a limit, an overloaded service or a broken network for a sign-out', async () => {
    const { client, instead, changes } = await signedIn('cleo')
    accepted(await client.me())
    await latchkey.advance(16 * minutes)
    const limited = { error: 'Too many requests', message: 'Please slow down' }
    const troubles: [() => Response, object][] = [
      [() => Response.json(limited, { status: 429 }), { refused: 'too_many_requests' }],
      [() => Response.json({ code: 'unavailable' }, { status: 503 }), { refused: 'unavailable', status: 503 }],
      [() => new Response('<h1>Bad gateway</h1>', { status: 502 }), { refused: 'unknown', status: 502 }],
      [() => Response.error(), { refused: 'unknown', status: 0 }],
    ]
    for (const [answer, expected] of troubles) {
      instead.set('/api/auth/refresh', answer)
      expect(await client.me()).toMatchObject(expected)
    }
    expect(changes).toEqual([])
    instead.clear()
    expect(accepted(await client.me()).user.username).toBe('cleo')
  })

  it('notices when another user has signed in, or the session has ended', async () => {
    const { client, changes, jar } = await signedIn('dora')
    accepted(await client.me())
    const elsewhere = openClient(jar)
    await latchkey.signedUp('emil')
    accepted(await elsewhere.client.login({ username: 'emil', password: goodPassword }))
    accepted(await client.me())
    accepted(await elsewhere.client.logout())
    expect(await client.account()).toMatchObject({ refused: 'not_authenticated' })
    expect(changes).toMatchObject([
      { change: 'other_user', user: { username: 'emil' }, by: 'answer' },
      { change: 'signed_out', by: 'answer' },
    ])
  })
})
