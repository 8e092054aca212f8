import type { FastifyReply, FastifyRequest } from 'fastify'
import type { Cookies } from '../http/cookies.js'
import type { PendingLink, PendingLinks } from '../providers/attempts.js'
import type { DeviceOwner, KnownDevices } from '../sessions/known-devices.js'
import { type SignInCookies, sendUser } from '../sessions/session-cookies.js'
import type { MailLimits, SignInLimits } from './guess-limits.js'
import type { NewSession } from './new-sessions.js'
import type { SignInOutcome, Visit } from './sign-ins.js'

/** `extra`: further properties of the answer. */
const sendSignedIn = (reply: FastifyReply, cookies: Cookies, session: NewSession, extra?: object) => {
  cookies.setNewSession(reply, session)
  return sendUser(reply, session, extra)
}

/**
 * Answers a proof: the user is signed in, or is told the next step. If the request has also added a factor, the answer describes it, and a
 * next step keeps the status of a success.
 */
export const sendSignInStep = (
  reply: FastifyReply,
  { cookies, signInCookies }: { cookies: Cookies; signInCookies: SignInCookies },
  outcome: SignInOutcome,
  addedFactor?: object,
) => {
  if ('issued' in outcome) return sendSignedIn(reply, cookies, outcome.issued, addedFactor)
  signInCookies.setChallenge(reply, outcome.challenge)
  const { next, methods } = outcome
  return addedFactor ? reply.send({ next, ...addedFactor }) : reply.status(202).send({ next, methods })
}

/** Answers a further proof of a sign-in that has waited. Its cookie is cleared, or replaced by that of the next step. */
export const sendContinuedSignIn = (
  reply: FastifyReply,
  parts: { cookies: Cookies; signInCookies: SignInCookies },
  outcome: SignInOutcome,
  addedFactor?: object,
) => {
  if ('issued' in outcome) parts.signInCookies.clearChallenge(reply)
  return sendSignInStep(reply, parts, outcome, addedFactor)
}

type RecoveredAccountsDependencies = {
  mailLimits: MailLimits
  signInLimits: SignInLimits
  knownDevices: KnownDevices
  signInCookies: SignInCookies
  cookies: Cookies
}

export type RecoveredAccounts = ReturnType<typeof createRecoveredAccounts>

/** An owner who got the account back by a mailed link must be able to sign in, whatever an attacker has used up. */
export const createRecoveredAccounts = (deps: RecoveredAccountsDependencies) => {
  const { mailLimits, signInLimits, knownDevices, signInCookies, cookies } = deps
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

const name = 'pending_link'

export type PendingLinkCookie = ReturnType<typeof createPendingLinkCookie>

type PendingLinkCookieDependencies = { cookies: Cookies; pendingLinks: PendingLinks }

/** The cookie with the identity that waits to be linked. */
export const createPendingLinkCookie = ({ cookies, pendingLinks }: PendingLinkCookieDependencies) => ({
  keep: (reply: FastifyReply, link: Omit<PendingLink, 'expiresAt'>) =>
    cookies.set(reply, name, pendingLinks.seal(link)),
  read: (request: FastifyRequest) => {
    const sealed = cookies.read(request, name)
    return sealed === undefined ? undefined : pendingLinks.open(sealed)
  },
  clear: (reply: FastifyReply) => cookies.clear(reply, name),
})
