import type { AccessClaims } from '../contract/access-claims.js'
import { isRefused, type Refused, refuse } from '../contract/outcome.js'
import type { Client } from '../http/request-origin.js'
import { fingerprint, type Key } from '../lib/random.js'
import { challengeLifetime, createChallenges, readProofOfKey, readProofOfNewKey } from './device-proofs.js'
import type { IssuedTokens, SessionTools } from './issue-tokens.js'
import { liveNow } from './live-sessions.js'
import type { BindSession, Rotations } from './rotation.js'
import * as store from './sessions.store.js'
import type { RefreshToken } from './tokens.js'

export const registerPath = '/api/auth/bound/register'
export const refreshPath = '/api/auth/bound/refresh'

type Parts = {
  tools: Pick<SessionTools, 'database' | 'clock' | 'lifetimes'>
  keys: readonly Key[]
  isOffered: boolean
  rotate: Rotations
  bindSession: BindSession
}

/** What is wrong: the token is not the newest of its session, the session is bound, or the proof is not right. */
type RegistrationRefusal = Refused<'token' | 'bound' | 'proof'>
type RefreshRefusal =
  | Refused<'ended' | 'proof' | 'replaced' | 'theft'>
  | (Refused<'challenged'> & { challenge: string })

export type BoundSessions = ReturnType<typeof createBoundSessions>

/** Sessions that are bound to a key of their device (Device Bound Session Credentials). */
export const createBoundSessions = ({ tools, keys, isOffered, rotate, bindSession }: Parts) => {
  const { database, clock } = tools
  const challenges = createChallenges(keys)

  const findBinding = async ({ text, claims }: RefreshToken) => {
    const presented = { id: claims.sid, presentedHash: fingerprint(text), youngFor: challengeLifetime }
    const [row] = await store.selectBinding(database, presented, { live: liveNow(tools), clockOffset: clock.offset() })
    return row
  }

  /** The header that offers a browser to bind a session that has just begun. */
  const offer = (sid: string) =>
    isOffered ? `(ES256);path="${registerPath}";challenge="${challenges.ofRegistration({ sid, gen: 0 })}"` : undefined

  return {
    isOffered,
    offer,
    /**
     * The offer after the redirect of a provider, with which the browser would register without its Strict cookies. So it comes with the
     * first request of a page. The token alone tells, and no store is asked: after a registration it has another generation.
     */
    offerAfterProvider: ({ sid, gen, amr, iat }: AccessClaims) =>
      gen === 0 && amr.includes('provider') && clock.now().getTime() - iat * 1000 < challengeLifetime
        ? offer(sid)
        : undefined,

    /** Binds a session that has just begun to the key that the proof names. Only with its newest token. */
    register: async (
      refreshToken: RefreshToken,
      proofText: string,
      client: Client,
    ): Promise<IssuedTokens | RegistrationRefusal> => {
      const binding = await findBinding(refreshToken)
      if (!binding?.is_newest) return refuse('token')
      if (binding.bound_key) return refuse('bound')
      const proof = readProofOfNewKey(proofText)
      const isAnswer = proof !== undefined && challenges.isOfRegistration(proof.challenge, refreshToken.claims)
      if (!isAnswer || !binding.is_young) return refuse('proof')
      return (await bindSession(refreshToken, client, proof.key)) ?? refuse('bound')
    },

    /** Renews the tokens of a bound session for the browser that has its key. `proofText` is undefined if it has none yet. */
    refresh: async (
      refreshToken: RefreshToken,
      proofText: string | undefined,
      client: Client,
    ): Promise<IssuedTokens | RefreshRefusal> => {
      const binding = await findBinding(refreshToken)
      if (!binding?.bound_key) return refuse('ended')
      const { bound_key: key, moment } = binding
      const challenge = () => refuse('challenged', { challenge: challenges.ofRefresh(refreshToken.claims, moment) })
      if (proofText === undefined) return challenge()
      const answered = readProofOfKey(proofText, key)
      if (answered === undefined) return refuse('proof')
      // Browsers first send the last proof again. It was good once, so this is no sign of a thief.
      if (!challenges.isOfRefresh(answered, refreshToken.claims, moment)) return challenge()
      const rotated = await rotate(refreshToken, client, 'browser', key)
      if (!isRefused(rotated)) return rotated.issued
      return rotated.refused === 'unproven' ? refuse('ended') : refuse(rotated.refused)
    },
  }
}
