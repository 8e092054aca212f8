import type { FastifyReply, FastifyRequest } from 'fastify'
import type { Cookies } from '../http/cookies.js'
import type { DeviceOwner, KnownDevices } from '../sessions/known-devices.js'
import type { SignInCookies } from '../sessions/session-cookies.js'
import type { Visit } from '../sessions/session-facts.js'
import type { MailLimits, SignInLimits } from './guess-limits.js'

// An owner who got the account back by a mailed link must be able to sign in, whatever an attacker has used up.

type Remembering = { signInCookies: SignInCookies; knownDevices: KnownDevices }

const rememberedDevices = ({ signInCookies, knownDevices }: Remembering, owner: DeviceOwner, request: FastifyRequest) =>
  knownDevices.remember(owner, signInCookies.knownDevicesIn(request))

type OwnLimits = { mailLimits: MailLimits; signInLimits: SignInLimits }

export const resetLimitsOfOwner = async (
  { mailLimits, signInLimits }: OwnLimits,
  owner: DeviceOwner,
  request: FastifyRequest,
) => {
  await Promise.all([mailLimits.resetMailedCodeCount(owner.id), signInLimits.resetSignInCount(owner, request)])
}

/** Makes this browser known, so that the owner can sign in with it while others guess at the account. */
export const rememberBrowserOfOwner = (
  parts: Remembering & { cookies: Cookies },
  owner: DeviceOwner,
  request: FastifyRequest,
  reply: FastifyReply,
) => parts.cookies.setKnownDevices(reply, rememberedDevices(parts, owner, request))

/**
 * The visit of the owner in this browser. The browser counts as known, so that the sign-in sends no mail about a new device: the mail about
 * the new password tells of this visit already.
 */
export const visitOfOwner = (parts: Remembering, owner: DeviceOwner, request: FastifyRequest): Visit => ({
  ...parts.signInCookies.visitOf(request, {}),
  knownDevices: rememberedDevices(parts, owner, request),
})
