import { isRefused, refuse } from '../contract/outcome.js'
import { type PasskeyCeremonies, sessionBinding } from '../factors/passkey-ceremonies.js'
import type { Proofs } from '../factors/second-factors.js'

import type { Client } from '../http/request-origin.js'
import type { Events } from '../messages/events.js'
import type { MailedCodes } from '../messages/mailed-codes.js'

import type { SessionLookups } from '../sessions/session-lookups.js'
import type { SessionCaller } from '../sessions/sessions.js'
import type { Users } from '../users/users.js'
import { type GivenProof, handlerOf, mailedCodeOf, type ProofHandlers } from './proof-handlers.js'
import type { Visit } from './sign-ins.js'

type Dependencies = {
  users: Users
  sessionLookups: Pick<SessionLookups, 'isLive'>
  proofs: Proofs
  passkeyCeremonies: Pick<PasskeyCeremonies, 'stepUpOptions'>
  mailedCodes: MailedCodes
  events: Events
  proofHandlers: ProofHandlers
}

/** Refusals that do not count as a failed try: nothing was compared, the proof would not have been enough, or the session is over. */
const refusalsWithoutTry: readonly string[] = ['busy', 'too_many_codes', 'not_authenticated', 'fresh_sign_in_required']

type ProofRequest = { given: GivenProof; sealedChallenge: string | undefined; visit: Visit }

/** Proves again who the user of a session is. The session is fresh afterwards, and has new tokens. */
export const createStepUp = (deps: Dependencies) => {
  const { users, sessionLookups, proofs, passkeyCeremonies, mailedCodes, events, proofHandlers } = deps
  const handlerNames = Object.keys(proofHandlers) as (keyof ProofHandlers)[]

  /** The user of the caller, and the methods that count as a proof for the account. */
  const findProver = async (caller: SessionCaller) => {
    const user = await users.findEnabled(caller.userId)
    if (!user || !(await sessionLookups.isLive(caller))) return refuse('not_authenticated')
    return { user, methods: await proofs.methodsFor(user) }
  }

  const prove = async (caller: SessionCaller, { given, sealedChallenge, visit }: ProofRequest) => {
    const names = handlerNames.filter((each) => given[each] !== undefined)
    const [name] = names
    const handler = name && handlerOf(proofHandlers, given, name)
    if (!handler || names.length !== 1) return refuse('bad_request', { message: 'Send exactly one proof' })
    const prover = await findProver(caller)
    if (isRefused(prover)) return prover
    const { user, methods } = prover
    if (!methods.includes(handler.method)) return refuse('fresh_sign_in_required', { methods })
    const issued = await handler.prove({ user, caller, sealedChallenge, visit })
    if (isRefused(issued) && refusalsWithoutTry.includes(issued.refused)) return issued
    const { userId, sessionId } = caller
    if (isRefused(issued))
      await events.record({ kind: 'step_up_failed', userId, sessionId, reason: handler.reason }, visit.client)
    return issued
  }

  const beginPasskey = async (caller: SessionCaller) => {
    const prover = await findProver(caller)
    if (isRefused(prover)) return prover
    const { methods } = prover
    if (!methods.includes('passkey')) return refuse('fresh_sign_in_required', { methods })
    return passkeyCeremonies.stepUpOptions(caller.userId, sessionBinding(caller))
  }

  /** Mails a code to an account that has no other method of proof. */
  const mailCode = async (caller: SessionCaller, client: Client) => {
    const prover = await findProver(caller)
    if (isRefused(prover)) return prover
    const { user, methods } = prover
    if (!methods.includes('mail')) return refuse('fresh_sign_in_required', { methods })
    await mailedCodes.send(mailedCodeOf(caller), user, client)
    return undefined
  }

  return {
    methods: async (caller: SessionCaller) => {
      const prover = await findProver(caller)
      return isRefused(prover) ? prover : { methods: prover.methods }
    },
    prove,
    beginPasskey,
    mailCode,
  }
}
