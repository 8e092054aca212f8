import { describe, expect, it } from 'vitest'
import { answerOf, isTemporary } from './answers.js'

const answered = (status: number, body: string, headers: Record<string, string> = {}) =>
  answerOf(async () => new Response(body, { status, headers }))

describe('an answer of the service', () => {
  it('is a value, also without content', async () => {
    expect(await answered(200, '{"user":1}')).toEqual({ value: { user: 1 } })
    expect(await answerOf(async () => new Response(null, { status: 204 }))).toEqual({ value: undefined })
  })

  it('is known by its code, with the details beside it', async () => {
    expect(await answered(409, JSON.stringify({ error: 'Any title', code: 'username_taken' }))).toMatchObject({
      refused: 'username_taken',
      status: 409,
    })
    const ids = { errors: ['length'], feedback: [] }
    expect(await answered(422, JSON.stringify({ code: 'password_rejected', ids }))).toMatchObject({
      refused: 'password_rejected',
      ids,
    })
  })

  it('is known by its title if it is a 429, which has no code', async () => {
    const locked = await answered(429, JSON.stringify({ error: 'Too many attempts' }), { 'retry-after': '3.2' })
    expect(locked).toMatchObject({ refused: 'too_many_attempts', status: 429, retryAfter: 4 })
    expect(await answered(429, '<h1>Slow down</h1>')).toMatchObject({ refused: 'too_many_requests', status: 429 })
  })

  it.each(['<h1>Welcome to our hotel</h1>', '<!doctype html><div id="app"></div>', 'null', '5', '"text"', ''])(
    'is unknown when something else comes in its place, and says nothing about a sign-out: %s',
    async (body) => {
      const answer = await answered(200, body, { 'content-type': 'text/html' })
      expect(answer).toEqual({ refused: 'unknown', status: 200 })
      expect(answer.refused && isTemporary(answer)).toBe(true)
    },
  )

  it('is unknown when it is the error page of a proxy, and missing when the service cannot be reached', async () => {
    expect(await answered(502, '<h1>Bad gateway</h1>')).toMatchObject({ refused: 'unknown', status: 502 })
    expect(await answered(500, 'null')).toMatchObject({ refused: 'unknown', status: 500 })
    expect(await answerOf(() => Promise.reject(new TypeError('Failed to fetch')))).toMatchObject({
      refused: 'no_answer',
    })
  })
})
