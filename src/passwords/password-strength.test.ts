import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { goodPassword, type Latchkey, startLatchkey } from '../../test/support/latchkey.js'
import { startStopwatch } from '../../test/support/stopwatch.js'
import { inSentences } from '../contract/password-rules.js'

describe('POST /api/auth/password-strength', () => {
  let latchkey: Latchkey
  beforeAll(async () => {
    latchkey = await startLatchkey({ settings: { GENERAL_LIMIT: '200/15m', WORKER_QUEUE: '5' } })
  })
  afterAll(() => latchkey?.stop())

  const ask = (body: object) =>
    fetch(`${latchkey.url}/api/auth/password-strength`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify(body),
    })

  it('tells that a password is strong and keeps the rules', async () => {
    const answer = await ask({ password: goodPassword })
    expect(answer.status).toBe(200)
    expect(answer.headers.get('cache-control')).toBe('no-store')
    expect(answer.headers.get('ratelimit-limit')).toBe('200')
    expect(await answer.json()).toEqual({
      strength: { score: 4, feedback: [], isStrong: true },
      validation: { valid: true, errors: [] },
      ids: { errors: [], feedback: [] },
    })
  })

  it('names every rule that is broken, in order', async () => {
    const answer = await ask({ password: 'summer' })
    const { strength, validation, ids } = await answer.json()
    expect(ids.errors).toEqual(['length', 'uppercase', 'digit', 'special', 'too_weak'])
    expect(inSentences(ids).feedback).toEqual(strength.feedback)
    expect(validation).toEqual({
      valid: false,
      errors: [
        'Password must be at least 8 characters',
        'Password must contain uppercase letters',
        'Password must contain numbers',
        'Password must contain special characters',
        `Password is too weak. ${strength.feedback.join(' ')}`,
      ],
    })
  })

  it('takes the name, the username and the email into account', async () => {
    const password = 'Wollstonecraft-Godwin-7'
    expect(await (await ask({ password })).json()).toMatchObject({ validation: { valid: true } })
    for (const person of [
      { name: 'Mary Wollstonecraft Godwin' },
      { username: 'wollstonecraft.godwin' },
      { email: 'wollstonecraft_godwin@example.com' },
    ]) {
      expect(await (await ask({ password, ...person })).json()).toMatchObject({ strength: { isStrong: false } })
    }
  })

  it('answers a password that is too long in the words of the rules', async () => {
    const answer = await ask({ password: goodPassword.repeat(20) })
    expect(answer.status).toBe(200)
    expect(await answer.json()).toMatchObject({ validation: { errors: ['Password must be at most 256 characters'] } })
  })

  it.each([[{}], [{ password: 1 }], [{ password: null }], [{ password: ['a'] }], [{ password: 'x'.repeat(2_000) }]])(
    'refuses %j',
    async (body) => {
      expect((await ask(body)).status).toBe(400)
    },
  )

  it('sheds load with 503 when too many wait, and stays alive for all others', async () => {
    const all = Promise.all(Array.from({ length: 60 }, () => ask({ password: '4@8({[</369&#!1/|0$5+7%2'.repeat(3) })))
    const time = startStopwatch()
    expect((await fetch(`${latchkey.url}/health/live`)).status).toBe(200)
    expect(time()).toBeLessThan(1_000)
    const answers = await all
    const shed = answers.filter(({ status }) => status === 503)
    expect(shed.length).toBeGreaterThan(0)
    expect(shed[0]?.headers.get('retry-after')).toMatch(/^\d+$/)
    expect(answers.filter(({ status }) => status === 200).length).toBeGreaterThan(0)
    expect((await ask({ password: goodPassword })).status).toBe(200)
  })

  it('is under the general limiter', async () => {
    const statuses: number[] = []
    while (statuses.length < 210 && statuses.at(-1) !== 429) statuses.push((await ask({ password: 'x\0' })).status)
    expect(statuses.at(-1)).toBe(429)
  })
})
