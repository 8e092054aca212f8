import { setTimeout as pause } from 'node:timers/promises'
import type { Answer, Visitor } from '../../support/site/https-client.js'
import { password, type Site } from '../../support/site/site.js'
import { until } from '../../support/until.js'

type Registration = { visitor: Visitor; username: string; email: string; state: 'asked' | 'tried' | 'confirmed' }

const pauseMs = 30

/**
 * Clients who sign in, refresh and register without a break, and remember what they were promised: a session by 200, a
 * registration by 202. A lost answer and a 503 are what a fault may cost; after it they try again with what they have.
 */
export const startClients = (site: Site, names: string[], label: string) => {
  const sessions: Visitor[] = []
  const registrations: Registration[] = []
  const surprises: string[] = []
  const writes: number[] = []
  let refused = 0
  let going = true

  const attempt = async (what: string, ask: () => Promise<Answer>) => {
    const { status, text } = await ask().catch(() => ({ status: 503, text: '' }))
    if (status === 503) refused += 1
    else if ([200, 202].includes(status)) writes.push(performance.now())
    else surprises.push(`${what}: ${status} ${text}`)
    return status
  }
  const forever = async (work: () => Promise<unknown>) => {
    while (going) {
      await work()
      await pause(pauseMs)
    }
  }
  const signIn = async (name: string) => {
    const visitor = site.visitor()
    if ((await attempt('sign in', () => visitor.post('/login', { username: name, password }))) !== 200) return undefined
    sessions.push(visitor)
    return visitor
  }
  /** Rotates one session again and again. */
  const stay = async (name: string) => {
    let visitor: Visitor | undefined
    await forever(async () => {
      visitor ??= await signIn(name)
      if (visitor && (await attempt('refresh', visitor.refresh)) === 401) visitor = undefined
    })
  }
  const register = async (username: string) => {
    const visitor = site.visitor()
    const email = `${username}@example.com`
    const status = await attempt('register', () => visitor.post('/api/auth/register', { username, email, password }))
    if (status === 202) registrations.push({ visitor, username, email, state: 'asked' })
  }
  const confirm = async (registration: Registration) => {
    const { email, state, visitor } = registration
    const mail = site.inbox.received.find(({ recipients }) => recipients.includes(email))
    const token = mail?.text?.match(/#token=([\w-]+)/)?.[1]
    if (state === 'confirmed' || !token) return
    registration.state = 'tried'
    const ask = () => visitor.post('/api/auth/verify-email', { token })
    // An earlier try whose answer was lost may have used the link. Whether the account is there is seen at the end.
    if (state === 'tried') registration.state = (await ask()).status === 503 ? 'tried' : 'confirmed'
    else if ((await attempt('confirm', ask)) === 200) registration.state = 'confirmed'
  }
  let newcomers = 0
  const work = [
    ...names.slice(0, 4).map(stay),
    ...names.slice(4).map((name) => forever(() => signIn(name))),
    ...[1, 2].map(() => forever(() => register(`${label}-${newcomers++}`))),
    forever(async () => {
      for (const each of registrations.slice(-20)) await confirm(each).catch(() => undefined)
    }),
  ]
  return {
    sessions,
    registrations,
    surprises,
    writes,
    confirm,
    refused: () => refused,
    more: (count: number) => {
      const goal = writes.length + count
      return until(`${count} more writes`, () => writes.length >= goal, 60_000)
    },
    stop: async () => {
      going = false
      await Promise.all(work)
    },
  }
}

export type Clients = ReturnType<typeof startClients>
