import type { AccountChangesRoom } from '../account-changes/open-account-changes.js'
import { isRefused, type Refused, refuse } from '../contract/outcome.js'
import type { PasskeyCredential } from '../contract/passkeys.js'
import { amrOfProof, type CarrierOf, type ProofMethod, proofMethods } from '../contract/second-factors.js'
import type { FactorsRoom } from '../factors/open-factors.js'
import { sessionBinding } from '../factors/passkey-ceremonies.js'
import type { CodeRefusal } from '../factors/second-factors.js'
import type { Client } from '../http/request-origin.js'
import type { MessagesRoom } from '../messages/open-messages.js'
import type { Passwords } from '../passwords/passwords.js'
import type { Transaction } from '../platform/database/database.js'
import type { SessionsRoom } from '../sessions/open-sessions.js'
import type { Browser } from '../sessions/session-facts.js'
import type { IssuedTokens, SessionCaller } from '../sessions/sessions.js'
import type { UsersRoom } from '../users/open-users.js'
import type { User } from '../users/users.js'

type Rooms = UsersRoom & SessionsRoom & MessagesRoom & AccountChangesRoom & FactorsRoom & { passwords: Passwords }

/** The type of each proof, by the property of the request that carries it. */
type ProofValues = { credential: PasskeyCredential; code: string; password: string; mailedCode: string }
type GivenProof = Partial<ProofValues>

/** The user who gives the proof. `sealedChallenge` is there if the proof is a passkey. */
type Prover = { user: User; caller: SessionCaller; sealedChallenge: string | undefined; browser: Browser }

type WrongProof = 'wrong_current_password' | 'wrong_mailed_code' | 'mailed_code_void' | 'passkey_rejected'
type NotEnough = Refused<'fresh_sign_in_required'> & { methods: readonly ProofMethod[] }
type Refusal = Refused<WrongProof | 'busy' | 'not_authenticated'> | NotEnough | CodeRefusal

type ProofReason = 'passkey' | 'code' | 'password' | 'mail'

/** Checks the proof that a request carries, and says how events name it. */
type ProofCheck<Name extends keyof ProofValues> = {
  carrier: Name
  reason: ProofReason
  prove: (rooms: Rooms, value: ProofValues[Name], prover: Prover) => Promise<IssuedTokens | Refusal>
}

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
const renew = async (
  { accountChanges, factors }: Rooms,
  { caller, browser }: Prover,
  { method, reason, confirm, refusal }: Renewal,
) => {
  const context = { caller, client: browser.client }
  const renewed = await accountChanges.byCaller(context, 'stepped_up', async (sql, current) => {
    if (!(await confirm(sql, current))) return refuse(refusal)
    // With a second factor that was added in the meantime, a password is not enough any more.
    const methods = await factors.proofsFor(sql, current)
    if (!methods.includes(method)) return refuse('fresh_sign_in_required', { methods })
    return { changes: { stepped_up: { proven: amrOfProof(method), event: { reason } } } }
  })
  return isRefused(renewed) ? renewed : renewed.issued
}

const mailedCodeOf = ({ sessionId }: { sessionId: string }) => ({ mail: 'step-up-code', boundTo: sessionId }) as const

/** The form of a code says whether it is of the app or a recovery code. */
const codeCheck: ProofCheck<'code'> = {
  carrier: 'code',
  reason: 'code',
  prove: async ({ knownDevices, factors, accountChanges }, code, { user: account, caller, browser }) => {
    const { client } = browser
    const device = knownDevices.find(account, browser.knownDevices ?? [])
    return factors.prove({ userId: account.id, code, client, device }, async (sql, user, accept, method) => {
      const context = { caller, client }
      const renewed = await accountChanges.byCallerInside(sql, user, context, 'stepped_up', async () =>
        (await accept())
          ? { changes: { stepped_up: { proven: method, event: { reason: 'code' } } } }
          : refuse('wrong_second_factor'),
      )
      return isRefused(renewed) ? renewed : renewed.issued
    })
  },
}

const proofChecks: { readonly [Method in ProofMethod]: ProofCheck<CarrierOf<Method>> } = {
  totp: codeCheck,
  recovery_code: codeCheck,
  passkey: {
    carrier: 'credential',
    reason: 'passkey',
    prove: async (rooms, credential, prover) => {
      const { passkeyCeremonies, passkeys } = rooms
      const answer = { credential, sealedChallenge: prover.sealedChallenge, binding: sessionBinding(prover.caller) }
      const proven = await passkeyCeremonies.verify('step_up', answer, prover.user.id)
      if (isRefused(proven)) return refuse('passkey_rejected')
      const confirm = (sql: Transaction) => passkeys.accept(sql, proven)
      return renew(rooms, prover, { method: 'passkey', reason: 'passkey', confirm, refusal: 'passkey_rejected' })
    },
  },
  password: {
    carrier: 'password',
    reason: 'password',
    prove: async (rooms, password, prover) => {
      const { passwordHash } = prover.user
      const verified = await rooms.passwords.verify(password, passwordHash, { ...prover.browser.client, isKnown: true })
      if (isRefused(verified)) return verified
      if (!verified.matches) return refuse('wrong_current_password')
      const confirm = (_: Transaction, current: User) => current.passwordHash === passwordHash
      return renew(rooms, prover, {
        method: 'password',
        reason: 'password',
        confirm,
        refusal: 'wrong_current_password',
      })
    },
  },
  mail: {
    carrier: 'mailedCode',
    reason: 'mail',
    prove: async (rooms, code, prover) => {
      const { mailedCodes } = rooms
      const checked = await mailedCodes.check(mailedCodeOf(prover.caller), prover.user.id, code)
      if (isRefused(checked)) return checked
      const confirm = (sql: Transaction) => mailedCodes.take(sql, checked.id)
      return renew(rooms, prover, { method: 'mail', reason: 'mail', confirm, refusal: 'mailed_code_void' })
    },
  },
}

/** The check of a method; undefined if the request does not carry such a proof. */
const checkOf = <Method extends ProofMethod>(given: GivenProof, method: Method) => {
  const { carrier, reason, prove }: ProofCheck<CarrierOf<Method>> = proofChecks[method]
  const value: ProofValues[CarrierOf<Method>] | undefined = given[carrier]
  return value === undefined
    ? undefined
    : { method, carrier, reason, prove: (rooms: Rooms, prover: Prover) => prove(rooms, value, prover) }
}

/** The user of the caller, and the methods that count as a proof for the account. */
export const findProver = async ({ users, sessionLookups, factors }: Rooms, caller: SessionCaller) => {
  const user = await users.findEnabled(caller.userId)
  if (!user || !(await sessionLookups.isLive(caller))) return refuse('not_authenticated')
  return { user, methods: await factors.proofsFor(user) }
}

/** Refusals that do not count as a failed try: nothing was compared, the proof would not have been enough, or the session is over. */
const refusalsWithoutTry: readonly string[] = [
  'busy',
  'too_many_requests',
  'not_authenticated',
  'fresh_sign_in_required',
]

type ProofRequest = { given: GivenProof; sealedChallenge: string | undefined; browser: Browser }

/** Proves again who the user of a session is. The session is fresh afterwards, and has new tokens. */
export const proveAgain = async (
  rooms: Rooms,
  caller: SessionCaller,
  { user, methods }: { user: User; methods: readonly ProofMethod[] },
  { given, sealedChallenge, browser }: ProofRequest,
) => {
  const checks = proofMethods.flatMap((method) => checkOf(given, method) ?? [])
  const [first] = checks
  if (!first || checks.some(({ carrier }) => carrier !== first.carrier))
    return refuse('bad_request', { message: 'Send exactly one proof' })
  const check = checks.find(({ method }) => methods.includes(method))
  if (!check) return refuse('fresh_sign_in_required', { methods })
  const issued = await check.prove(rooms, { user, caller, sealedChallenge, browser })
  if (isRefused(issued) && refusalsWithoutTry.includes(issued.refused)) return issued
  const { userId, sessionId } = caller
  if (isRefused(issued))
    await rooms.events.record({ kind: 'step_up_failed', userId, sessionId, reason: check.reason }, browser.client)
  return issued
}

/** The options of a ceremony with a passkey, in this session. */
export const beginPasskeyProof = async (rooms: Rooms, caller: SessionCaller) => {
  const prover = await findProver(rooms, caller)
  if (isRefused(prover)) return prover
  const { methods } = prover
  if (!methods.includes('passkey')) return refuse('fresh_sign_in_required', { methods })
  return rooms.passkeyCeremonies.stepUpOptions(caller.userId, sessionBinding(caller))
}

/** Mails a code to an account that has no other method of proof. */
export const mailProofCode = async (rooms: Rooms, caller: SessionCaller, client: Client) => {
  const prover = await findProver(rooms, caller)
  if (isRefused(prover)) return prover
  const { user, methods } = prover
  if (!methods.includes('mail')) return refuse('fresh_sign_in_required', { methods })
  await rooms.mailedCodes.send(mailedCodeOf(caller), user, client)
  return undefined
}
