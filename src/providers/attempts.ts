import { type Static, Type } from 'typebox'
import type { ProviderId } from '../contract/providers.js'
import { Nullable, Provider } from '../contract/schemas.js'
import { attemptLifetime, pendingLinkLifetime } from '../http/cookie-table.js'
import { type Clock, later } from '../lib/clock.js'
import { randomToken } from '../lib/random.js'
import { createSealedJson, type Seal } from '../lib/seal.js'
import { SessionFacts, shortFacts, type Visit } from '../sessions/session-facts.js'
import type { Profile } from './provider.js'

/**
 * The purpose of an attempt: to sign in, or to link an identity to an account. The session that links must still be valid at the end. A
 * sign-in takes along what the browser does not send when the provider sends it back.
 */
const Purpose = Type.Union([
  Type.Object({
    kind: Type.Literal('sign_in'),
    facts: Type.Partial(SessionFacts),
    /** Null if the browser did not send this cookie either. */
    knownDevices: Nullable(Type.Unsafe<readonly string[]>(Type.Array(Type.String()))),
    /** The session that this browser had. */
    earlierSession: Nullable(Type.Object({ userId: Type.String(), sessionId: Type.String() })),
  }),
  Type.Object({ kind: Type.Literal('link'), userId: Type.String(), sessionId: Type.String() }),
])

/** The attempt in the form of its cookie. */
const SealedAttempt = Type.Object({
  provider: Provider,
  state: Type.String(),
  verifier: Type.String(),
  nonce: Type.String(),
  returnTo: Type.String(),
  purpose: Purpose,
  expiresAt: Type.Integer(),
})

export type Purpose = Static<typeof Purpose>
export type Attempt = Omit<Static<typeof SealedAttempt>, 'expiresAt'> & { expiresAt: Date }

/** The purpose of an attempt to sign in with this visit. */
export const toSignIn = ({ facts, knownDevices, earlierSession }: Visit): Purpose => ({
  kind: 'sign_in',
  facts: shortFacts(facts),
  knownDevices: knownDevices ?? null,
  earlierSession: earlierSession ?? null,
})

/** Attempts to sign in at a provider. The server stores none: the browser has a sealed value. */
export const createAttempts = ({ seal, clock }: { seal: Seal; clock: Clock }) => {
  const sealedAttempts = createSealedJson(seal, SealedAttempt)
  return {
    begin: (provider: ProviderId, returnTo: string, purpose: Purpose): Attempt => ({
      provider,
      returnTo,
      purpose,
      state: randomToken(),
      verifier: randomToken(),
      nonce: randomToken(),
      expiresAt: later(clock.now(), attemptLifetime),
    }),

    seal: ({ expiresAt, ...attempt }: Attempt) => sealedAttempts.seal({ ...attempt, expiresAt: expiresAt.getTime() }),

    /** The attempt, unless it was changed or has expired. */
    open: (sealed: string): Attempt | undefined => {
      const attempt = sealedAttempts.open(sealed)
      if (!attempt || attempt.expiresAt <= clock.now().getTime()) return undefined
      return { ...attempt, expiresAt: new Date(attempt.expiresAt) }
    },
  }
}

export type Attempts = ReturnType<typeof createAttempts>

/** The user who began to link an identity, and their session. */
export type Linker = { userId: string; sessionId: string }

/** An identity that the provider has proven. It waits for the session that began the link. */
export type PendingLink = { provider: ProviderId; linker: Linker; state: string; profile: Profile; expiresAt: Date }

/** The link in the form of its cookie. The name of the profile is left out, because a link changes no name. */
const SealedLink = Type.Object({
  provider: Provider,
  userId: Type.String(),
  sessionId: Type.String(),
  state: Type.String(),
  subject: Type.String(),
  email: Type.String(),
  username: Type.String(),
  expiresAt: Type.Integer(),
})

/**
 * The callback of the provider links nothing, because it comes without the session: an attacker could plant an attempt in the browser, and
 * so link their own identity to the user's account. The callback seals the proven identity into a cookie, which the account page sends back
 * with the session.
 */
export const createPendingLinks = ({ seal, clock }: { seal: Seal; clock: Clock }) => {
  const sealedLinks = createSealedJson(seal, SealedLink)
  return {
    seal: ({ provider, linker, state, profile }: Omit<PendingLink, 'expiresAt'>) => {
      const { subject, email, username } = profile
      const expiresAt = later(clock.now(), pendingLinkLifetime).getTime()
      return sealedLinks.seal({ provider, ...linker, state, subject, email, username, expiresAt })
    },

    /** The link, unless it was changed or has expired. */
    open: (sealed: string): PendingLink | undefined => {
      const link = sealedLinks.open(sealed)
      if (!link || link.expiresAt <= clock.now().getTime()) return undefined
      const { provider, userId, sessionId, state, subject, email, username, expiresAt } = link
      return {
        provider,
        linker: { userId, sessionId },
        state,
        profile: { subject, email, username, name: null },
        expiresAt: new Date(expiresAt),
      }
    },
  }
}

export type PendingLinks = ReturnType<typeof createPendingLinks>
