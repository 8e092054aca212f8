import { createElement } from 'preact'
import { renderToString } from 'preact-render-to-string'
import { afterEach, describe, expect, it, vi } from 'vitest'
import type { Client } from './client.js'
import { reload, watchOwner } from './page-owner.js'
import type { Change, User } from './presence.js'
import { LatchkeyProvider, SignedIn, SignedOut, useClient, useUser } from './react.js'
import { createUserStore } from './user-store.js'

const ada: User = { id: '1', username: 'ada' }
const hopper: User = { id: '2', username: 'hopper' }
const signedIn = (user: User) => ({ value: { user, sessionId: 's', expiresAt: '2026-01-31T12:00:00.000Z' } })
const signedOut = { refused: 'not_authenticated', status: 401 } as const
const away = { refused: 'no_answer', status: 0 } as const

/** A client that gives these answers, one after the other. */
const clientWith = (...answers: Awaited<ReturnType<Client['me']>>[]) => {
  const listeners = new Set<(change: Change) => void>()
  const asked = { times: 0 }
  const client = {
    me: async () => answers[Math.min(asked.times++, answers.length - 1)] ?? signedOut,
    onChange: (listener: (change: Change) => void) => {
      listeners.add(listener)
      return () => void listeners.delete(listener)
    },
  }
  const tell = (user: User | null) => {
    const change = user ? { change: 'signed_in' as const, user } : { change: 'signed_out' as const, user }
    for (const listener of listeners) listener({ by: 'other_tab', ...change })
  }
  return { client, tell, asked, listeners }
}

describe('what the server renders', () => {
  const Name = () => createElement('b', null, useUser()?.username ?? 'nobody')
  const page = (props: { user?: User | null; baseUrl?: string }) =>
    renderToString(
      createElement(LatchkeyProvider, props as object, [
        createElement(SignedIn, null, createElement(Name, null)),
        createElement(SignedOut, null, 'Sign in'),
      ]),
    )

  it('shows what belongs to the user or to a visitor, and nothing while that is not known', () => {
    expect([page({ user: ada }), page({ user: null }), page({})]).toEqual(['<b>ada</b>', 'Sign in', ''])
  })

  it('needs a provider, and has one client for each service', () => {
    expect(() => renderToString(createElement(Name, null))).toThrow('no <LatchkeyProvider>')
    const found: Client[] = []
    const Collect = () => {
      found.push(useClient())
      return null
    }
    for (const baseUrl of ['https://a.example', 'https://a.example', 'https://b.example'])
      renderToString(createElement(LatchkeyProvider, { baseUrl } as object, createElement(Collect, null)))
    expect([found[0] === found[1], found[0] === found[2]]).toEqual([true, false])
  })
})

describe('the user in a browser', () => {
  afterEach(() => void vi.useRealTimers())

  it('is asked for once for all components, and follows the changes of other tabs', async () => {
    const { client, tell, asked, listeners } = clientWith(signedIn(ada))
    const users = createUserStore(client, undefined)
    const seen: unknown[] = []
    const stops = [1, 2].map(() => users.subscribe(() => seen.push(users.read()?.username ?? null)))
    expect(users.read()).toBeUndefined()
    await vi.waitFor(() => expect(users.read()).toEqual(ada))
    tell(null)
    tell(null)
    tell(hopper)
    expect([asked.times, seen]).toEqual([1, ['ada', 'ada', null, null, 'hopper', 'hopper']])
    // What the server rendered stays what it was: otherwise the first rendering in the browser would differ from it.
    expect(users.readOnServer()).toBeUndefined()
    for (const stop of stops) stop()
    expect(listeners.size).toBe(0)
  })

  it('is the one of the server until the service says something else', async () => {
    const { client } = clientWith(signedOut)
    const users = createUserStore(client, ada)
    expect(users.read()).toBe(ada)
    users.subscribe(() => {})
    await vi.waitFor(() => expect(users.read()).toBeNull())
  })

  it('is not the one of an answer that a change has overtaken', async () => {
    let answer = (_: ReturnType<typeof signedIn>) => {}
    const { client, tell } = clientWith()
    const me = () =>
      new Promise<ReturnType<typeof signedIn>>((resolve) => {
        answer = resolve
      })
    const users = createUserStore({ ...client, me }, ada)
    users.subscribe(() => {})
    tell(null)
    answer(signedIn(ada))
    await new Promise((resolve) => setTimeout(resolve))
    expect(users.read()).toBeNull()
  })

  it('stays what it was while the service is away, which is asked again', async () => {
    vi.useFakeTimers()
    const { client, asked } = clientWith(away, { ...away, retryAfter: 30 }, signedIn(hopper))
    const users = createUserStore(client, ada)
    const stop = users.subscribe(() => {})
    await vi.advanceTimersByTimeAsync(5_000)
    expect([users.read(), asked.times]).toEqual([ada, 2])
    await vi.advanceTimersByTimeAsync(29_000)
    expect(asked.times).toBe(2)
    await vi.advanceTimersByTimeAsync(1_000)
    expect(users.read()).toEqual(hopper)
    stop()
  })

  it('is not asked for any more when no component shows it', async () => {
    vi.useFakeTimers()
    const { client, asked } = clientWith(away)
    const stop = createUserStore(client, undefined).subscribe(() => {})
    await vi.advanceTimersByTimeAsync(1_000)
    stop()
    await vi.advanceTimersByTimeAsync(60_000)
    expect(asked.times).toBe(1)
  })
})

describe('a page that the server has made for a user', () => {
  const shown: Record<string, (event: object) => void> = {}
  const opened = (fromServer: User | null, ...answers: Parameters<typeof clientWith>) => {
    vi.stubGlobal('addEventListener', (name: string, listener: () => void) => {
      shown[name] = listener
    })
    vi.stubGlobal('removeEventListener', () => {})
    const { client, tell, asked, listeners } = clientWith(...answers)
    const leave = vi.fn()
    const owner = { current: undefined }
    const open = (user: User | null) => watchOwner({ client, users: createUserStore(client, user) }, owner, leave)
    open(fromServer)
    return { leave, open, tell, asked, listeners }
  }
  afterEach(() => void vi.unstubAllGlobals())

  it.each([null, hopper])('is left when another tab signs out or in: %o', (user) => {
    const { leave, tell } = opened(ada, signedIn(ada))
    tell({ ...ada, username: 'lovelace' })
    expect(leave).not.toHaveBeenCalled()
    tell(user)
    expect(leave).toHaveBeenCalledOnce()
  })

  it('is left when the server makes the next one for another user, and when the browser shows it again', async () => {
    const { leave, open, asked } = opened(ada, signedIn(ada))
    open(null)
    expect(leave).toHaveBeenCalledOnce()
    await vi.waitFor(() => expect(asked.times).toBe(1))
    shown.pageshow?.({ persisted: false })
    shown.pageshow?.({ persisted: true })
    expect(asked.times).toBe(2)
  })

  it('stays if it was made for a visitor, and asks nothing then', () => {
    const { leave, tell, asked, listeners } = opened(null)
    tell(ada)
    expect([leave.mock.calls, asked.times, listeners.size]).toEqual([[], 0, 0])
  })

  it('is loaded anew once in five seconds', () => {
    const stored = new Map<string, string>()
    const load = vi.fn()
    vi.stubGlobal('location', { reload: load })
    vi.stubGlobal('sessionStorage', {
      getItem: (key: string) => stored.get(key) ?? null,
      setItem: (key: string, value: string) => void stored.set(key, value),
    })
    reload()
    reload()
    expect(load).toHaveBeenCalledOnce()
  })
})
