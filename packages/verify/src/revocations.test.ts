import { randomUUID } from 'node:crypto'
import { afterEach, describe, expect, it } from 'vitest'
import { createRevocationList, followRevocations, type Revocations } from './revocations.js'

type Question = {
  after: string | null
  wait: string | null
  key: string | null
  answer(response: Response | Error): void
}

type OfUser = { userId: string; iat: number }
const claimsOf = (sid: string, gen = 0, { userId, iat }: OfUser = { userId: randomUUID(), iat: 100 }) => ({
  sid,
  gen,
  userId,
  iat,
})

const followed: Revocations[] = []
afterEach(() => {
  for (const each of followed.splice(0)) each.close()
})

/** A service whose answers the test gives one by one. */
const follow = () => {
  const questions: Question[] = []
  const problems: string[] = []
  const time = { now: Date.now() }
  const ask = (address: string, init: RequestInit) =>
    new Promise<Response>((resolve, reject) => {
      const { searchParams } = new URL(address)
      const key = new Headers(init.headers).get('authorization')
      const answer = (given: Response | Error) => (given instanceof Error ? reject(given) : resolve(given))
      questions.push({ after: searchParams.get('after'), wait: searchParams.get('wait'), key, answer })
      init.signal?.addEventListener('abort', () => reject(new Error('aborted')))
    })
  const list = followRevocations({
    url: 'http://127.0.0.1:9/api/service/revocations',
    serviceKey: 'latchkey_key-of-the-test',
    fetch: ask as typeof fetch,
    now: () => time.now,
    onProblem: (message) => problems.push(message),
  })
  followed.push(list)
  const question = async (place: number) => {
    await expect.poll(() => questions.length).toBe(place + 1)
    const found = questions[place]
    if (!found) throw new Error('No question')
    return found
  }
  return { list, question, questions, problems, time }
}
const page = (entries: { sid: string; below: number | null }[], cursor: string, complete = false) =>
  Response.json({ entries, cursor, complete })
const ended = (count: number) => Array.from({ length: count }, () => ({ sid: randomUUID(), below: null }))

describe('the list of ended sessions', () => {
  it('is read as a whole first, in as many answers as it takes, and then waits for news', async () => {
    const { list, question } = follow()
    const entries = ended(10_500)
    const first = await question(0)
    expect(first).toMatchObject({ after: null, wait: '0', key: 'Bearer latchkey_key-of-the-test' })
    expect(list.state()).toEqual({ loaded: false, age: undefined, entries: 0 })
    first.answer(page(entries.slice(0, 10_000), 'one', true))
    const second = await question(1)
    expect(second).toMatchObject({ after: 'one', wait: '0' })
    expect(list.state().loaded).toBe(false)
    second.answer(page(entries.slice(10_000), 'two'))
    expect(await question(2)).toMatchObject({ after: 'two', wait: '25' })
    expect(list.state()).toEqual({ loaded: true, age: 0, entries: 10_500 })
    expect(entries.every(({ sid }) => list.refusesToken(claimsOf(sid, 5)))).toBe(true)
    expect(list.refusesToken(claimsOf(randomUUID()))).toBe(false)
  })

  it('goes on with what it knows while the service is away, and says how old that is', async () => {
    const { list, question, problems, time } = follow()
    const [known, news] = ended(2)
    if (!known || !news) throw new Error('No entries')
    ;(await question(0)).answer(page([known], 'one', true))
    ;(await question(1)).answer(new Error('ECONNREFUSED'))
    time.now += 90_000
    ;(await question(2)).answer(new Response('', { status: 503 }))
    expect(list.state()).toEqual({ loaded: true, age: 90, entries: 1 })
    expect(list.refusesToken(claimsOf(known.sid))).toBe(true)
    const back = await question(3)
    expect(back).toMatchObject({ after: 'one', wait: '25' })
    back.answer(page([news], 'two', true))
    await question(4)
    expect([known, news].map(({ sid }) => list.refusesToken(claimsOf(sid)))).toEqual([true, true])
    expect(list.state().age).toBe(0)
    expect(problems).toEqual([expect.stringContaining('ended sessions cannot be read')])
  })

  it('has users all of whose tokens from before a second are refused, whatever session they are of', async () => {
    const { list, question } = follow()
    const [userId, [known]] = [randomUUID(), ended(1)]
    const users = [{ userId, before: 100 }]
    ;(await question(0)).answer(Response.json({ entries: [known], users, cursor: 'one', complete: true }))
    await question(1)
    const refuses = (iat: number, user: string = userId) =>
      list.refusesToken(claimsOf(randomUUID(), 3, { userId: user, iat }))
    expect([refuses(99), refuses(100), refuses(99, randomUUID())]).toEqual([true, false, false])
    expect(list.refusesToken(claimsOf(known?.sid ?? ''))).toBe(true)
  })

  it('has all users after a restore: tokens from before it are refused', async () => {
    const { list, question } = follow()
    const users = [{ userId: '00000000-0000-0000-0000-000000000000', before: 100 }]
    ;(await question(0)).answer(Response.json({ entries: [], users, cursor: 'one', complete: true }))
    await question(1)
    const refuses = (iat: number) => list.refusesToken(claimsOf(randomUUID(), 3, { userId: randomUUID(), iat }))
    expect([refuses(99), refuses(100)]).toEqual([true, false])
  })

  it.each<[string, Response]>([
    ['an entry of a user without a time', Response.json({ entries: [], users: [{ userId: 'x' }], cursor: 'x' })],
    ['no JSON', new Response('<!doctype html>')],
    ['another form', Response.json({ entries: [{ sid: 1, below: null }], cursor: 'x' })],
    ['no cursor', Response.json({ entries: [] })],
    ['a redirect', Response.redirect('https://evil.example/', 302)],
    ['5 MB', Response.json({ entries: [], cursor: 'x'.repeat(5_000_000) })],
  ])('is not loaded by an answer that is %s', async (_, answer) => {
    const { list, question } = follow()
    ;(await question(0)).answer(answer)
    await question(1)
    expect(list.state().loaded).toBe(false)
  })

  it('says what a wrong key is, also to those who wait for the list', async () => {
    const { list, question, problems } = follow()
    expect(list.lastingProblem()).toBeUndefined()
    ;(await question(0)).answer(new Response('', { status: 401 }))
    await expect.poll(() => list.lastingProblem()).toContain('does not know the service key (401)')
    expect(list.lastingProblem()).toContain('set serviceUrl')
    expect(problems).toEqual([list.lastingProblem()])
  })

  it('says why the service cannot be reached', async () => {
    const { question, problems } = follow()
    const cause = Object.assign(new Error('connect ECONNREFUSED'), { code: 'ECONNREFUSED' })
    ;(await question(0)).answer(new TypeError('fetch failed', { cause }))
    await expect.poll(() => problems).toEqual([expect.stringContaining('fetch failed (ECONNREFUSED)')])
  })

  it('asks no more after a close', async () => {
    const { list, question, questions } = follow()
    await question(0)
    list.close()
    await new Promise((resolve) => setImmediate(resolve))
    expect(questions).toHaveLength(1)
  })
})

describe('an entry', () => {
  it('refuses the tokens of its session below a generation, or all of them', () => {
    const list = createRevocationList(() => 0)
    const [sid, other] = [randomUUID(), randomUUID()]
    list.add({ id: sid, least: 4 })
    expect([3, 4].map((generation) => list.refusesToken(claimsOf(sid, generation)))).toEqual([true, false])
    list.add({ id: sid, least: 2 })
    expect(list.refusesToken(claimsOf(sid, 3))).toBe(true)
    list.add({ id: sid, least: Number.POSITIVE_INFINITY })
    list.add({ id: sid, least: 5 })
    expect(list.refusesToken(claimsOf(sid, 2 ** 31))).toBe(true)
    expect(list.refusesToken(claimsOf(other))).toBe(false)
  })

  it('is kept for at least 20 minutes, and not much longer', () => {
    let minutes = 0
    const list = createRevocationList(() => minutes * 60_000)
    const [early, late] = [randomUUID(), randomUUID()]
    list.add({ id: early, least: 9 })
    minutes = 4
    list.add({ id: late, least: 9 })
    minutes = 24
    list.add({ id: randomUUID(), least: 9 })
    expect(list.refusesToken(claimsOf(late))).toBe(true)
    minutes = 30
    list.add({ id: randomUUID(), least: 9 })
    expect([early, late].map((sid) => list.refusesToken(claimsOf(sid)))).toEqual([false, false])
    const userId = randomUUID()
    const refusesUser = () => list.refusesToken(claimsOf(randomUUID(), 0, { userId, iat: 99 }))
    list.add({ id: userId, least: 100 })
    minutes = 50
    expect(refusesUser()).toBe(true)
    minutes = 56
    list.add({ id: randomUUID(), least: 9 })
    expect(refusesUser()).toBe(false)
    for (; minutes < 600; minutes += 1) for (const { sid: id } of ended(10)) list.add({ id, least: 9 })
    expect(list.size()).toBeLessThanOrEqual(300)
  })
})
