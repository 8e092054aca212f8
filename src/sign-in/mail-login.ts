import { isRefused, refuse } from '../contract/outcome.js'
import { minResponseTime, takeAtLeast } from '../lib/timing.js'
import type { Events } from '../messages/events.js'
import type { Transaction } from '../platform/database/database.js'
import type { UserChanges, Users } from '../users/users.js'

import type { MailSignIns, ProvenMail } from './mail-sign-ins.js'
import type { SignIns, Visit } from './sign-ins.js'

type MailProof = { code: string } | { token: string }

type Dependencies = {
  mailSignIns: MailSignIns
  signIns: SignIns
  users: Pick<Users, 'findEnabled' | 'lockEnabled' | 'findByEmail'>
  userChanges: Pick<UserChanges, 'proveEmail'>
  events: Events
}

/** Signs in with a mailed code or link, in the browser that asked for it. */
export const createMailLogin = ({ mailSignIns, signIns, users, userChanges, events }: Dependencies) => {
  /** An event of a known user takes the database longer than one without a user. The answer waits long enough to hide this. */
  const noteFailure = async ({ client }: Visit, reason: string, userId: string | undefined) => {
    const failed = { kind: 'sign_in_failed', triedBy: 'mail', reason: `mail_${reason}` } as const
    await takeAtLeast(minResponseTime, events.record({ ...failed, ...(userId !== undefined && { userId }) }, client))
  }

  const byCode = async (code: string, browserToken: string | undefined, visit: Visit) => {
    const mailSignIn = await mailSignIns.findByCode(code, browserToken)
    if (!isRefused(mailSignIn)) return mailSignIn
    await noteFailure(visit, mailSignIn.refused === 'wrong_mailed_code' ? 'wrong_code' : 'code_void', mailSignIn.userId)
    return refuse(mailSignIn.refused)
  }

  /** Locks the user's row, as every change of the account that voids the mail does. */
  const claim = (proven: Extract<ProvenMail, { userId: string }>) => async (sql: Transaction) => {
    const user = await users.lockEnabled(sql, proven.userId)
    if (!user || !(await mailSignIns.take(sql, proven))) return false
    await userChanges.proveEmail(sql, user.id)
    return true
  }

  const enter = async (proven: Extract<ProvenMail, { userId: string }>, visit: Visit) => {
    const user = await users.findEnabled(proven.userId)
    return user && signIns.byMail(user, { claim: claim(proven), isNew: false }, visit)
  }

  /**
   * Returns the secret with which this browser can register. Undefined if the mail was used in the meantime, or the address has got an
   * account.
   */
  const beginRegistration = async ({ id, email }: Extract<ProvenMail, { email: string }>) => {
    if (await users.findByEmail(email)) return undefined
    const registrationToken = await mailSignIns.prove(id)
    return registrationToken === undefined ? undefined : { registrationToken }
  }

  return async (proof: MailProof, browserToken: string | undefined, visit: Visit) => {
    const proven = await ('code' in proof
      ? byCode(proof.code, browserToken, visit)
      : mailSignIns.findByToken(proof.token, browserToken))
    if (isRefused(proven)) return proven
    const entered = await ('userId' in proven ? enter(proven, visit) : beginRegistration(proven))
    return entered ?? refuse('code' in proof ? 'mailed_code_void' : 'invalid_link')
  }
}
