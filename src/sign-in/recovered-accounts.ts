import type { FastifyReply, FastifyRequest } from 'fastify'
import type { Cookies } from '../http/cookies.js'
import type { DeviceOwner, KnownDevices } from '../sessions/known-devices.js'
import type { SignInCookies } from '../sessions/session-cookies.js'
import type { MailLimits } from './mail-limits.js'
import type { SignInLimits } from './sign-in-limits.js'
import type { Visit } from './sign-ins.js'

type Dependencies = {
  mailLimits: Pick<MailLimits, 'forgetMailedCodes'>
  signInLimits: Pick<SignInLimits, 'resetSignInCount'>
  knownDevices: Pick<KnownDevices, 'remember'>
  signInCookies: Pick<SignInCookies, 'knownDevicesIn' | 'visitOf'>
  cookies: Pick<Cookies, 'setKnownDevices'>
}

export type RecoveredAccounts = ReturnType<typeof createRecoveredAccounts>

/** An owner who got the account back by a mailed link must be able to sign in, whatever an attacker has used up. */
export const createRecoveredAccounts = (deps: Dependencies) => {
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
