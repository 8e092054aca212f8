import { createHash } from 'node:crypto'
import { type ProviderId, providerIds } from '../../contract/providers.js'
import { type Clock, later } from '../../lib/clock.js'
import { minutes } from '../../lib/durations.js'
import { randomToken } from '../../lib/random.js'
import type { Seal } from '../../lib/seal.js'
import type { Checks } from './provider.js'

export const attemptLifetime = 10 * minutes

/** Signing in, or linking an identity to an account on behalf of a session that must still live at the end. */
export type Purpose = { kind: 'sign_in' } | { kind: 'link'; userId: string; sessionId: string }

export type Attempt = Checks & { provider: ProviderId; returnTo: string; purpose: Purpose; expiresAt: Date }

/**
 * One attempt to sign in at a provider. Nothing of it is kept on the server: the browser holds it, sealed, in a cookie
 * of its own, whose name comes from the state. So two tabs run two attempts, and an answer finds the one it belongs to.
 */
export const createAttempts = ({ seal, clock }: { seal: Seal; clock: Clock }) => ({
  begin: (provider: ProviderId, returnTo: string, purpose: Purpose): Attempt => ({
    provider,
    returnTo,
    purpose,
    state: randomToken(),
    verifier: randomToken(),
    nonce: randomToken(),
    expiresAt: later(clock.now(), attemptLifetime),
  }),

  seal: ({ provider, returnTo, purpose, state, verifier, nonce, expiresAt }: Attempt) => {
    const link = purpose.kind === 'link' ? [purpose.userId, purpose.sessionId] : []
    return seal.seal(JSON.stringify([provider, state, verifier, nonce, expiresAt.getTime(), returnTo, ...link]))
  },

  /** The attempt, unless it was altered or is past its time. */
  open: (sealed: string): Attempt | undefined => {
    const text = seal.open(sealed)
    const attempt = text === undefined ? undefined : parse(text)
    return attempt && attempt.expiresAt > clock.now() ? attempt : undefined
  },
})

export type Attempts = ReturnType<typeof createAttempts>

const cookiePrefix = 'attempt_'
const cookieName = /^attempt_[\w-]{12}$/

export const isAttemptCookieName = (name: string) => cookieName.test(name)

export const attemptCookieName = (state: string) =>
  cookiePrefix + createHash('sha256').update(`attempt ${state}`).digest('base64url').slice(0, 12)

/** The seal proves that we wrote it; an older release of ours may have written it otherwise. */
const parse = (text: string): Attempt | undefined => {
  const fields: unknown = JSON.parse(text)
  if (!Array.isArray(fields)) return undefined
  const [provider, state, verifier, nonce, expires, returnTo, userId, sessionId]: unknown[] = fields
  const knownProvider = providerIds.find((id) => id === provider)
  const texts = [state, verifier, nonce, returnTo].every((field) => typeof field === 'string')
  if (!knownProvider || !texts || typeof expires !== 'number') return undefined
  return {
    provider: knownProvider,
    state: String(state),
    verifier: String(verifier),
    nonce: String(nonce),
    returnTo: String(returnTo),
    expiresAt: new Date(expires),
    purpose:
      typeof userId === 'string' && typeof sessionId === 'string'
        ? { kind: 'link', userId, sessionId }
        : { kind: 'sign_in' },
  }
}
