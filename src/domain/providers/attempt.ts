import { isProviderId, type ProviderId } from '../../contract/providers.js'
import { type Clock, later } from '../../lib/clock.js'
import { minutes } from '../../lib/durations.js'
import { randomToken } from '../../lib/random.js'
import type { Seal } from '../../lib/seal.js'
import type { Checks } from './provider.js'
import { isFields, isText, sealedFields } from './sealed-object.js'

export const attemptLifetime = 10 * minutes

/** Signing in, or linking an identity to an account for a session that must still be valid at the end. */
export type Purpose = { kind: 'sign_in' } | { kind: 'link'; userId: string; sessionId: string }

type Owner = { userId: string; sessionId: string }

/** Of the browser that begins an attempt. */
type Held = Pick<Attempt, 'knownDevices' | 'earlierSession'>
const nothingHeld: Held = { knownDevices: undefined, earlierSession: undefined }

export type Attempt = Checks & {
  provider: ProviderId
  returnTo: string
  purpose: Purpose
  /** Of the browser, which does not send them when the provider sends it back. Undefined if it did not send them before either. */
  knownDevices: readonly string[] | undefined
  /** The session that this browser had, which it does not name either when it comes back. */
  earlierSession: Owner | undefined
  expiresAt: Date
}

/**
 * One attempt to sign in at a provider. Nothing of it is kept on the server: the browser holds it, sealed.
 */
export const createAttempts = ({ seal, clock }: { seal: Seal; clock: Clock }) => ({
  begin: (
    provider: ProviderId,
    returnTo: string,
    purpose: Purpose,
    { knownDevices, earlierSession }: Held = nothingHeld,
  ): Attempt => ({
    provider,
    returnTo,
    purpose,
    knownDevices,
    earlierSession,
    state: randomToken(),
    verifier: randomToken(),
    nonce: randomToken(),
    expiresAt: later(clock.now(), attemptLifetime),
  }),

  seal: ({ expiresAt, ...attempt }: Attempt) =>
    seal.seal(JSON.stringify({ ...attempt, expiresAt: expiresAt.getTime() })),

  /** The attempt, unless it was changed or has expired. */
  open: (sealed: string): Attempt | undefined => {
    const attempt = attemptFrom(sealedFields(seal.open(sealed)))
    return attempt && attempt.expiresAt > clock.now() ? attempt : undefined
  },
})

export type Attempts = ReturnType<typeof createAttempts>

const attemptFrom = (fields: ReturnType<typeof sealedFields>): Attempt | undefined => {
  const { provider, state, verifier, nonce, returnTo, expiresAt } = fields
  const purpose = purposeFrom(fields.purpose)
  if (!isProviderId(provider) || !purpose || typeof expiresAt !== 'number') return undefined
  if (!isText(state) || !isText(verifier) || !isText(nonce) || !isText(returnTo)) return undefined
  const { knownDevices: known } = fields
  const knownDevices = Array.isArray(known) && known.every(isText) ? known : undefined
  const earlierSession = ownerFrom(fields.earlierSession)
  const held = { knownDevices, earlierSession }
  return { provider, purpose, state, verifier, nonce, returnTo, ...held, expiresAt: new Date(expiresAt) }
}

const ownerFrom = (value: unknown): Owner | undefined => {
  if (!isFields(value)) return undefined
  const { userId, sessionId } = value
  return isText(userId) && isText(sessionId) ? { userId, sessionId } : undefined
}

const purposeFrom = (value: unknown): Purpose | undefined => {
  if (!isFields(value)) return undefined
  const { kind, userId, sessionId } = value
  if (kind === 'sign_in') return { kind }
  return kind === 'link' && isText(userId) && isText(sessionId) ? { kind, userId, sessionId } : undefined
}
