import { type Clock, later } from '../lib/clock.js'
import { minutes } from '../lib/durations.js'
import { randomToken } from '../lib/random.js'
import type { Seal } from '../lib/seal.js'

export const ceremonyLifetime = 5 * minutes

/** The purpose of a challenge. An answer for one purpose is refused for another. */
export type Purpose = 'sign_in' | 'registration' | 'step_up'

/** `sealedChallenge` is for a cookie of the browser that gets the challenge. */
export type Ceremony = { challenge: string; sealedChallenge: string; expiresAt: Date }

/** Binds a challenge to one session, or to one sign-in by its id, so that it cannot be answered in another. */
export const sessionBinding = ({ userId, sessionId }: { userId: string; sessionId: string }) => `${userId} ${sessionId}`

const sealedShape = /^(\d{13})\.([\w-]+)$/

/** When the value of a cookie expires, for tidying up. Whether the value is genuine is checked by `read` only. */
export const expiryOfSealedChallenge = (sealedChallenge: string) => Number(sealedShape.exec(sealedChallenge)?.[1] ?? 0)

export type Ceremonies = ReturnType<typeof createCeremonies>

/**
 * Challenges for passkeys. The server stores none. The browser has a sealed value that opens only together with its challenge, its purpose
 * and what it is bound to, such as a session.
 */
export const createCeremonies = ({ seal, clock }: { seal: Seal; clock: Clock }) => {
  const associatedData = (purpose: Purpose, binding: string, challenge: string, expiry: string) =>
    JSON.stringify([purpose, binding, challenge, expiry])

  return {
    begin: (purpose: Purpose, binding = ''): Ceremony => {
      const challenge = randomToken()
      const expiresAt = later(clock.now(), ceremonyLifetime)
      const expiry = String(expiresAt.getTime())
      return {
        challenge,
        sealedChallenge: `${expiry}.${seal.seal('', associatedData(purpose, binding, challenge, expiry))}`,
        expiresAt,
      }
    },

    /**
     * The time at which the challenge expires. Undefined if it has expired, if this browser did not get it, or got it for another purpose.
     */
    read: (sealedChallenge: string, purpose: Purpose, binding: string, challenge: string) => {
      const [, expiry = '', sealed = ''] = sealedShape.exec(sealedChallenge) ?? []
      if (seal.open(sealed, associatedData(purpose, binding, challenge, expiry)) === undefined) return undefined
      const expiresAt = new Date(Number(expiry))
      return expiresAt > clock.now() ? expiresAt : undefined
    },
  }
}
