import type { AccountChanges } from '../account-changes/account-changes.js'
import { amrOfProof, type ProofMethod } from '../contract/factors.js'
import { isRefused, type Refused, refuse } from '../contract/outcome.js'
import type { PasskeyCredential } from '../contract/passkeys.js'
import { type PasskeyCeremonies, sessionBinding } from '../factors/passkey-ceremonies.js'
import type { Passkeys } from '../factors/passkeys.js'
import type { CodeRefusal, Factors, Proofs } from '../factors/second-factors.js'

import type { MailedCodes } from '../messages/mailed-codes.js'
import type { Passwords } from '../passwords/passwords.js'
import type { Transaction } from '../platform/database/database.js'
import type { KnownDevices } from '../sessions/known-devices.js'
import type { IssuedTokens, SessionCaller } from '../sessions/sessions.js'
import type { User } from '../users/users.js'
import type { Visit } from './sign-ins.js'

type Dependencies = {
  accountChanges: Pick<AccountChanges, 'byCaller' | 'byCallerInside'>
  proofs: Proofs
  passwords: Passwords
  factors: Factors
  passkeys: Pick<Passkeys, 'accept'>
  passkeyCeremonies: Pick<PasskeyCeremonies, 'verify'>
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
  ({ accountChanges, proofs }: Pick<Dependencies, 'accountChanges' | 'proofs'>) =>
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

export const mailedCodeOf = ({ sessionId }: { sessionId: string }) =>
  ({ mail: 'step-up-code', boundTo: sessionId }) as const

export const createProofHandlers = (deps: Dependencies): ProofHandlers => {
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
export const handlerOf = <Name extends keyof ProofValues>(handlers: ProofHandlers, given: GivenProof, name: Name) => {
  const handler: ProofHandler<ProofValues[Name]> = handlers[name]
  const value: ProofValues[Name] | undefined = given[name]
  return value === undefined ? undefined : { ...handler, prove: (prover: Prover) => handler.prove(value, prover) }
}
