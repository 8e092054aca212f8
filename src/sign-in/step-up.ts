import type { AccountChanges } from '../account-changes/account-changes.js'
import { amrOfProof, type ProofMethod } from '../contract/factors.js'
import { isRefused, type Refused, refuse } from '../contract/outcome.js'
import type { PasskeyCredential } from '../contract/passkeys.js'
import { type PasskeyCeremonies, sessionBinding } from '../factors/passkey-ceremonies.js'
import type { Passkeys } from '../factors/passkeys.js'
import type { CodeRefusal, Factors, Proofs } from '../factors/second-factors.js'
import type { Client } from '../http/request-origin.js'
import type { Events } from '../messages/events.js'
import type { MailedCodes } from '../messages/mailed-codes.js'
import type { Passwords } from '../passwords/passwords.js'
import type { Transaction } from '../platform/database/database.js'
import type { KnownDevices } from '../sessions/known-devices.js'
import type { SessionLookups } from '../sessions/session-lookups.js'
import type { IssuedTokens, SessionCaller } from '../sessions/sessions.js'
import type { User, Users } from '../users/users.js'
import type { Visit } from './sign-ins.js'

type ProofHandlersDependencies = {
  accountChanges: AccountChanges
  proofs: Proofs
  passwords: Passwords
  factors: Factors
  passkeys: Passkeys
  passkeyCeremonies: PasskeyCeremonies
  knownDevices: KnownDevices
  mailedCodes: MailedCodes
}

/** The type of each proof, by the property of the request that carries it. */
type ProofValues = { credential: PasskeyCredential; code: string; password: string; mailedCode: string }
export type GivenProof = Partial<ProofValues>

/** The user who gives the proof. The challenge is there if the proof is a passkey. */
type Prover = { user: User; caller: SessionCaller; sealedChallenge: string | undefined; visit: Visit }

type WrongProof = 'wrong_current_password' | 'wrong_mailed_code' | 'mailed_code_void' | 'passkey_rejected'
type NotEnough = Refused<'fresh_sign_in_required'> & { methods: readonly ProofMethod[] }
type Refusal = Refused<WrongProof | 'busy' | 'not_authenticated'> | NotEnough | CodeRefusal

type ProofReason = 'passkey' | 'code' | 'password' | 'mail'

/** Checks one kind of proof, and says which of the account's methods it is and how events name it. */
type ProofHandler<Value> = {
  method: ProofMethod
  reason: ProofReason
  prove: (value: Value, prover: Prover) => Promise<IssuedTokens | Refusal>
}
export type ProofHandlers = { [Name in keyof ProofValues]: ProofHandler<ProofValues[Name]> }

/**
 * `confirm` checks again with the user's row locked, because another request may have used the proof or changed the password. A proof
 * that works only once is used up.
 */
type Renewal = {
  method: ProofMethod
  reason: ProofReason
  confirm: (sql: Transaction, current: User) => boolean | Promise<boolean>
  refusal: WrongProof
}

/** Makes the session fresh and uses the proof up, in one transaction. */
const createRenew =
  ({ accountChanges, proofs }: ProofHandlersDependencies) =>
  async ({ caller, visit }: Prover, { method, reason, confirm, refusal }: Renewal) => {
    const context = { caller, client: visit.client }
    const renewed = await accountChanges.byCaller(context, 'stepped_up', async (sql, current) => {
      if (!(await confirm(sql, current))) return refuse(refusal)
      // With a second factor that was added in the meantime, a password is not enough any more.
      const methods = await proofs.methodsFor(sql, current)
      if (!methods.includes(method)) return refuse('fresh_sign_in_required', { methods })
      return { changes: { stepped_up: { proven: amrOfProof[method], event: { reason } } } }
    })
    return isRefused(renewed) ? renewed : renewed.issued
  }

const mailedCodeOf = ({ sessionId }: { sessionId: string }) => ({ mail: 'step-up-code', boundTo: sessionId }) as const

export const createProofHandlers = (deps: ProofHandlersDependencies): ProofHandlers => {
  const { accountChanges, passwords, factors, passkeys, passkeyCeremonies, knownDevices, mailedCodes } = deps
  const renew = createRenew(deps)
  return {
    credential: {
      method: 'passkey',
      reason: 'passkey',
      prove: async (credential, prover) => {
        const answer = { credential, sealedChallenge: prover.sealedChallenge, binding: sessionBinding(prover.caller) }
        const proven = await passkeyCeremonies.verify('step_up', answer, prover.user.id)
        if (isRefused(proven)) return refuse('passkey_rejected')
        const confirm = (sql: Transaction) => passkeys.accept(sql, proven)
        return renew(prover, { method: 'passkey', reason: 'passkey', confirm, refusal: 'passkey_rejected' })
      },
    },
    code: {
      method: 'totp',
      reason: 'code',
      prove: async (code, { user: account, caller, visit }) => {
        const { client } = visit
        const userId = account.id
        const device = knownDevices.find(account, visit.knownDevices ?? [])
        return factors.prove({ userId, code, client, device }, async (sql, user, accept, method) => {
          const context = { caller, client }
          const renewed = await accountChanges.byCallerInside(sql, user, context, 'stepped_up', async () =>
            (await accept())
              ? { changes: { stepped_up: { proven: method, event: { reason: 'code' } } } }
              : refuse('wrong_second_factor'),
          )
          return isRefused(renewed) ? renewed : renewed.issued
        })
      },
    },
    password: {
      method: 'password',
      reason: 'password',
      prove: async (password, prover) => {
        const { passwordHash } = prover.user
        const verified = await passwords.verify(password, passwordHash, { ...prover.visit.client, isKnown: true })
        if (isRefused(verified)) return verified
        if (!verified.matches) return refuse('wrong_current_password')
        const confirm = (_: Transaction, current: User) => current.passwordHash === passwordHash
        return renew(prover, { method: 'password', reason: 'password', confirm, refusal: 'wrong_current_password' })
      },
    },
    mailedCode: {
      method: 'mail',
      reason: 'mail',
      prove: async (code, prover) => {
        const checked = await mailedCodes.check(mailedCodeOf(prover.caller), prover.user.id, code)
        if (isRefused(checked)) return checked
        const confirm = (sql: Transaction) => mailedCodes.take(sql, checked.id)
        return renew(prover, { method: 'mail', reason: 'mail', confirm, refusal: 'mailed_code_void' })
      },
    },
  }
}

/** The handler for this proof; undefined if the request does not have it. */
const handlerOf = <Name extends keyof ProofValues>(handlers: ProofHandlers, given: GivenProof, name: Name) => {
  const handler: ProofHandler<ProofValues[Name]> = handlers[name]
  const value: ProofValues[Name] | undefined = given[name]
  return value === undefined ? undefined : { ...handler, prove: (prover: Prover) => handler.prove(value, prover) }
}

type StepUpDependencies = {
  users: Users
  sessionLookups: SessionLookups
  proofs: Proofs
  passkeyCeremonies: PasskeyCeremonies
  mailedCodes: MailedCodes
  events: Events
  proofHandlers: ProofHandlers
}

/** Refusals that do not count as a failed try: nothing was compared, the proof would not have been enough, or the session is over. */
const refusalsWithoutTry: readonly string[] = ['busy', 'too_many_codes', 'not_authenticated', 'fresh_sign_in_required']

type ProofRequest = { given: GivenProof; sealedChallenge: string | undefined; visit: Visit }

/** Proves again who the user of a session is. The session is fresh afterwards, and has new tokens. */
export const createStepUp = (deps: StepUpDependencies) => {
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
