import type { FastifyReply, FastifyRequest } from 'fastify'
import { type Ceremony, expiryOfSealedChallenge } from '../factors/passkey-ceremonies.js'
import type { Cookies } from '../http/cookies.js'
import { createTabCookies } from '../http/tab-cookies.js'
import type { Attempt, Attempts, PendingLink, PendingLinks } from '../providers/attempts.js'
import type { DeviceOwner, KnownDevices } from '../sessions/known-devices.js'
import { type SignInCookies, sendUser } from '../sessions/session-cookies.js'
import type { Visit } from '../sessions/session-facts.js'
import type { MailLimits, SignInLimits } from './guess-limits.js'
import type { NewSession, SignInOutcome } from './new-sessions.js'

/** `extra`: further properties of the answer. */
const sendSignedIn = (reply: FastifyReply, cookies: Cookies, session: NewSession, extra?: object) => {
  cookies.setNewSession(reply, session)
  return sendUser(reply, session, extra)
}

type AnswerCookies = { cookies: Cookies; signInCookies: SignInCookies }

/**
 * Answers a proof: the user is signed in, or is told the next step. If the request has also added a factor, the answer describes it, and a
 * next step keeps the status of a success.
 */
export const sendSignInStep = (
  reply: FastifyReply,
  { cookies, signInCookies }: AnswerCookies,
  outcome: SignInOutcome,
  addedFactor?: object,
) => {
  if ('issued' in outcome) return sendSignedIn(reply, cookies, outcome.issued, addedFactor)
  signInCookies.setChallenge(reply, outcome.pending)
  const { next, methods } = outcome
  return addedFactor ? reply.send({ next, ...addedFactor }) : reply.status(202).send({ next, methods })
}

/** Answers a further proof of a sign-in that has waited. Its cookie is cleared, or replaced by that of the next step. */
export const sendContinuedSignIn = (
  reply: FastifyReply,
  parts: AnswerCookies,
  outcome: SignInOutcome,
  addedFactor?: object,
) => {
  if ('issued' in outcome) parts.signInCookies.clearChallenge(reply)
  return sendSignInStep(reply, parts, outcome, addedFactor)
}

/** Parts of the API document for every route of a sign-in that waits. */
export const challengeSecurity: Record<string, string[]>[] = [{ challenge: [] }]

type Recovery = AnswerCookies & { mailLimits: MailLimits; signInLimits: SignInLimits; knownDevices: KnownDevices }

/** An owner who got the account back by a mailed link must be able to sign in, whatever an attacker has used up. */
export const createRecoveredAccounts = ({
  mailLimits,
  signInLimits,
  knownDevices,
  signInCookies,
  cookies,
}: Recovery) => {
  const rememberedDevices = (owner: DeviceOwner, request: FastifyRequest) =>
    knownDevices.remember(owner, signInCookies.knownDevicesIn(request))
  return {
    forgetLimits: async (owner: DeviceOwner, request: FastifyRequest) => {
      await mailLimits.forgetMailedCodes(owner.id)
      await signInLimits.resetSignInCount(owner, request)
    },
    /** Makes this browser known, so that the owner can sign in with it while others guess at the account. */
    rememberBrowser: (owner: DeviceOwner, request: FastifyRequest, reply: FastifyReply) =>
      cookies.setKnownDevices(reply, rememberedDevices(owner, request)),
    /**
     * The visit of the owner in this browser. The browser counts as known, so that the sign-in sends no mail about a new device: the mail
     * about the new password tells of this visit already.
     */
    visitOf: (owner: DeviceOwner, request: FastifyRequest): Visit => ({
      ...signInCookies.visitOf(request),
      knownDevices: rememberedDevices(owner, request),
    }),
  }
}

/** The cookie with the identity that waits to be linked. */
export const createPendingLinkCookie = (cookies: Cookies, pendingLinks: PendingLinks) => ({
  keep: (reply: FastifyReply, link: Omit<PendingLink, 'expiresAt'>) =>
    cookies.set(reply, 'pending_link', pendingLinks.seal(link)),
  read: (request: FastifyRequest) => {
    const sealed = cookies.read(request, 'pending_link')
    return sealed === undefined ? undefined : pendingLinks.open(sealed)
  },
  clear: (reply: FastifyReply) => cookies.clear(reply, 'pending_link'),
})

export type AttemptCookies = ReturnType<typeof createAttemptCookies>

/** One cookie for each attempt to sign in at a provider, named after its state. */
export const createAttemptCookies = (cookies: Cookies, attempts: Attempts) => {
  const expiryOf = (sealed: string) => attempts.open(sealed)?.expiresAt.getTime() ?? 0
  const tabs = createTabCookies({ cookies, prefix: 'attempt', maxOthers: 4, maxBytesOfOthers: 1_500, expiryOf })
  return {
    keep: (request: FastifyRequest, reply: FastifyReply, attempt: Attempt) =>
      tabs.keep(request, reply, attempt.state, attempts.seal(attempt)),
    /** The attempt that an answer with this state belongs to, if this browser began it and it is not too old. */
    find: (request: FastifyRequest, state: string) => {
      const sealed = tabs.read(request, state)
      const attempt = sealed === undefined ? undefined : attempts.open(sealed)
      return attempt?.state === state ? attempt : undefined
    },
    clear: (reply: FastifyReply, { state }: Attempt) => tabs.clear(reply, state),
  }
}

/** One small cookie for each challenge that this browser got for a passkey: every tab of the sign-in page has one or two. */
export const createCeremonyCookies = ({ cookies }: { cookies: Cookies }) => {
  const tabs = createTabCookies({
    cookies,
    prefix: 'passkey',
    maxOthers: 12,
    maxBytesOfOthers: Number.POSITIVE_INFINITY,
    expiryOf: expiryOfSealedChallenge,
  })
  return {
    keep: (request: FastifyRequest, reply: FastifyReply, { challenge, sealedChallenge }: Ceremony) =>
      tabs.keep(request, reply, challenge, sealedChallenge),
    /** Takes the sealed challenge of this browser, and clears its cookie, because a challenge can be answered once. */
    take: (request: FastifyRequest, reply: FastifyReply, challenge: string | undefined) => {
      if (challenge === undefined) return undefined
      const sealedChallenge = tabs.read(request, challenge)
      if (sealedChallenge !== undefined) tabs.clear(reply, challenge)
      return sealedChallenge
    },
  }
}
