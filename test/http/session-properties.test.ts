import fc from 'fast-check'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { days, minutes, seconds } from '../../src/lib/durations.js'
import { fingerprint } from '../../src/lib/random.js'
import { type Latchkey, startLatchkey } from '../support/latchkey.js'
import { passwordFacts, unchecked } from '../support/session-facts.js'

/**
 * Sessions are driven through random acts and held against a model of what must be true: a session has at most one
 * live token and its direct parent within the grace, a token that a new proof replaced gets no successor, and nothing
 * lives after it was ended.
 */
type Model = {
  tokens: string[]
  rotatedAt: number
  rotatedBy: 'browser' | 'proxy'
  expiresAt: number
  isEnded: boolean
  /** The token that a new proof replaced without grace. */
  voided?: { token: string; at: number }
}

const grace = 30 * seconds
const graces = { browser: grace, proxy: 2 * minutes }
const client = { ip: '192.0.2.1', userAgent: 'a model' }

let latchkey: Latchkey
let user: { id: string; username: string; email: string; name: string | null; groups: readonly string[] }
beforeAll(async () => {
  latchkey = await startLatchkey()
  await latchkey.signedUp('model')
  const found = await latchkey.app.rooms.users.findByLogin('model')
  if (!found) throw new Error('The user is missing')
  user = found
})
afterAll(() => latchkey.stop())

const act = fc.oneof(
  { weight: 2, arbitrary: fc.constant({ kind: 'login' as const }) },
  {
    weight: 8,
    arbitrary: fc.record({
      kind: fc.constant('refresh' as const),
      session: fc.nat(),
      age: fc.nat({ max: 2 }),
      by: fc.constantFrom('browser' as const, 'proxy' as const),
    }),
  },
  {
    weight: 3,
    arbitrary: fc.record({
      kind: fc.constant('parallel' as const),
      session: fc.nat(),
      count: fc.integer({ min: 2, max: 8 }),
    }),
  },
  { weight: 2, arbitrary: fc.record({ kind: fc.constant('prove' as const), session: fc.nat() }) },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant('logout' as const), session: fc.nat() }) },
  { weight: 1, arbitrary: fc.constant({ kind: 'reset' as const }) },
  {
    weight: 3,
    arbitrary: fc.record({
      kind: fc.constant('wait' as const),
      time: fc.constantFrom(1 * seconds, 20 * seconds, 31 * seconds, 100 * seconds, 16 * minutes, 29 * days, 31 * days),
    }),
  },
)

const claimsOf = (token: string) =>
  JSON.parse(Buffer.from(token.split('.')[1] ?? '', 'base64url').toString()) as { sid: string; gen: number }

it('at most one live successor, and nothing lives after it was ended', async () => {
  const { sessions, tokens, rotate } = latchkey.app.rooms
  const now = () => latchkey.clock.now().getTime()

  const read = (text: string) => {
    const token = tokens.readRefresh(text)
    if (!token) throw new Error('A refresh token of the service is not read')
    return token
  }

  const refresh = async (model: Model, token: string, by: Model['rotatedBy']) => {
    const result = await rotate(read(token), client, by)
    const newest = model.tokens.at(-1)
    const isLive = !model.isEnded && now() < model.expiresAt - 1 * seconds
    if ('issued' in result) {
      expect(model.isEnded).toBe(false)
      expect(token).not.toBe(model.voided?.token)
      const successor = result.issued.refreshToken
      if (token === newest) {
        model.tokens.push(successor)
        model.rotatedAt = now()
        model.rotatedBy = by
        model.expiresAt = now() + result.issued.refreshTokenMaxAge * 1000
      } else {
        expect([token, successor]).toEqual([model.tokens.at(-2), newest])
        expect(now() - model.rotatedAt).toBeLessThan(graces[model.rotatedBy] + 2 * seconds)
      }
    } else if (isLive) {
      expect(token).not.toBe(newest)
      if (result.refused === 'replaced') {
        const since = Math.max(model.voided?.at ?? 0, model.rotatedAt)
        expect(model.tokens.slice(-4)).toContain(token)
        expect(now() - since).toBeLessThan(grace + 2 * seconds)
        return
      }
      expect(result.refused).toBe('theft')
      const wasJustRotated =
        token === model.tokens.at(-2) && now() - model.rotatedAt < graces[model.rotatedBy] - 2 * seconds
      expect(wasJustRotated && model.voided === undefined).toBe(false)
      const wasJustVoided = token === model.voided?.token && now() - model.voided.at < grace - 2 * seconds
      expect(wasJustVoided).toBe(false)
      model.isEnded = true
    }
  }

  const prove = async (model: Model) => {
    const { sid: sessionId, gen: generation } = claimsOf(model.tokens.at(-1) ?? '')
    const caller = { sessionId, userId: user.id, generation }
    const issued = await latchkey.sql.transaction(async (sql) => {
      const session = await latchkey.app.rooms.sessionLookups.lockOfCaller(sql, caller)
      return session && sessions.replaceTokens(sql, caller, client, { session, change: {}, provesUser: true })
    })
    if (!issued) return
    expect(model.isEnded).toBe(false)
    model.voided = { token: model.tokens.at(-1) ?? '', at: now() }
    model.tokens.push(issued.refreshToken)
    model.expiresAt = now() + issued.refreshTokenMaxAge * 1000
  }

  await fc.assert(
    fc.asyncProperty(fc.array(act, { minLength: 5, maxLength: 40 }), async (acts) => {
      await sessions.endAll('sessions_ended', user.id)
      const models: Model[] = []
      const pick = (index: number) => models[index % Math.max(1, models.length)]
      for (const step of acts) {
        if (step.kind === 'login') {
          const issued = await latchkey.sql.transaction((sql) =>
            sessions.beginSession(sql, unchecked(user), passwordFacts, client),
          )
          if (!issued) throw new Error('No session was begun')
          const expiresAt = now() + issued.refreshTokenMaxAge * 1000
          models.push({ tokens: [issued.refreshToken], rotatedAt: 0, rotatedBy: 'browser', expiresAt, isEnded: false })
        } else if (step.kind === 'wait') await latchkey.advance(step.time)
        else if (step.kind === 'reset') {
          await sessions.endAll('sessions_ended', user.id)
          for (const model of models) model.isEnded = true
        } else {
          const model = pick(step.session)
          if (!model) continue
          if (step.kind === 'refresh')
            await refresh(model, model.tokens.at(-1 - step.age) ?? model.tokens[0] ?? '', step.by)
          else if (step.kind === 'prove') await prove(model)
          else if (step.kind === 'logout') {
            const { claims } = read(model.tokens.at(-1) ?? '')
            await sessions.end('signed_out', { sessionId: claims.sid, userId: claims.userId })
            model.isEnded = true
          } else {
            const token = model.tokens.at(-1) ?? ''
            const results = await Promise.all(
              Array.from({ length: step.count }, () => rotate(read(token), client, 'browser')),
            )
            const successors = new Set(results.map((each) => ('issued' in each ? each.issued.refreshToken : undefined)))
            expect(successors.size).toBe(1)
            const [successor] = successors
            const [first] = results
            if (successor === undefined || !first || !('issued' in first)) continue
            expect(model.isEnded).toBe(false)
            model.tokens.push(successor)
            model.rotatedAt = now()
            model.rotatedBy = 'browser'
            model.expiresAt = now() + first.issued.refreshTokenMaxAge * 1000
          }
        }
      }
      const live = models.filter(({ isEnded, expiresAt }) => !isEnded && expiresAt > now() + 1 * seconds)
      const rows = await latchkey.sql.query<{ token_hash: Buffer }>(
        'select token_hash from sessions where user_id = $1 and expires_at > $2',
        [user.id, new Date(now() + 1 * seconds)],
      )
      const hashes = (tokens: Buffer[]) => tokens.map((hash) => hash.toString('hex')).sort()
      expect(hashes(rows.map(({ token_hash }) => token_hash))).toEqual(
        hashes(live.map(({ tokens }) => fingerprint(tokens.at(-1) ?? ''))),
      )
    }),
    { numRuns: 60 },
  )
})
