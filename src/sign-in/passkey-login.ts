import { isRefused, refuse } from '../contract/outcome.js'
import type { PasskeyCredential } from '../contract/passkeys.js'
import type { PasskeyCeremonies } from '../factors/passkey-ceremonies.js'
import { minResponseTime, takeAtLeast } from '../lib/timing.js'
import type { Events } from '../messages/events.js'
import type { SignIns, Visit } from './sign-ins.js'

type PasskeyAnswer = {
  credential: PasskeyCredential
  sealedChallenge: string | undefined
  /** The sign-in of this browser that waits for its second step. */
  challenge: string | undefined
}

/** Signs in with a passkey. For every failure the answer is the same. */
export const createPasskeyLogin = (deps: {
  passkeyCeremonies: Pick<PasskeyCeremonies, 'verify'>
  signIns: SignIns
  events: Events
}) => {
  const { passkeyCeremonies, signIns, events } = deps

  const reject = async ({ client }: Visit, reason: string, userId?: string) => {
    const failed = { kind: 'sign_in_failed', reason: `passkey_${reason}`, triedBy: 'passkey' } as const
    await takeAtLeast(minResponseTime, events.record({ ...failed, ...(userId !== undefined && { userId }) }, client))
    return refuse('passkey_rejected')
  }

  return async ({ credential, sealedChallenge, challenge }: PasskeyAnswer, visit: Visit) => {
    const proven = await passkeyCeremonies.verify('sign_in', { credential, sealedChallenge, binding: '' })
    if (isRefused(proven)) return reject(visit, proven.reason, proven.userId)
    return (await signIns.byPasskey(proven, challenge, visit)) ?? reject(visit, 'refused', proven.userId)
  }
}
