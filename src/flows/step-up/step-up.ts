import type { Language } from '../../contract/languages.js'
import { isRefused, type Refused, refuse } from '../../contract/outcome.js'
import type { PasskeyCredential } from '../../contract/passkeys.js'
import type { ProofMethod } from '../../contract/proofs.js'
import type { Events } from '../../domain/events/events.js'
import type { Factors } from '../../domain/factors/factors.js'
import type { KnownDevices } from '../../domain/known-devices/known-devices.js'
import { holderOf, type MailedCodes } from '../../domain/mailed-codes/mailed-codes.js'
import { sessionBinding } from '../../domain/passkeys/ceremonies.js'
import type { Passkeys } from '../../domain/passkeys/passkeys.js'
import type { Passwords } from '../../domain/passwords/passwords.js'
import type { Proofs } from '../../domain/proofs/proofs.js'
import type { Client } from '../../domain/sessions/client.js'
import type { SessionCaller, Sessions } from '../../domain/sessions/sessions.js'
import type { Visit } from '../../domain/sign-in/sign-ins.js'
import type { Method } from '../../domain/tokens/tokens.js'
import type { User, Users } from '../../domain/users/users.js'
import type { Database, Transaction } from '../../platform/database/database.js'

type Dependencies = {
  database: Database
  users: Users
  passwords: Passwords
  sessions: Sessions
  proofs: Proofs
  factors: Factors
  passkeys: Passkeys
  knownDevices: KnownDevices
  mailedCodes: MailedCodes
  events: Events
}

type WrongProof = 'wrong_current_password' | 'wrong_mailed_code' | 'mailed_code_void'

/** `holds` asks again in the transaction that uses the proof: another request may have used it or changed the password. */
type Proven = { holds: (sql: Transaction, current: User) => boolean | Promise<boolean> }

/** A way to prove it: which of the account's methods it is, and how the session's `amr` names it. */
type Way = {
  proof: ProofMethod
  method: Method
  check: (given: string, user: User, caller: SessionCaller) => Promise<Proven | Refused<WrongProof | 'busy'>>
  /** What to answer when it does not hold any more. */
  otherwise: WrongProof
}

/** By the property of the request that carries the proof. */
export type GivenProof = { password?: string; mailedCode?: string; code?: string; credential?: PasskeyCredential }

const createWays = ({ passwords, mailedCodes }: Dependencies): Record<'password' | 'mailedCode', Way> => ({
  password: {
    proof: 'password',
    method: 'pwd',
    check: async (password, user) => {
      const verified = await passwords.verify(password, user.passwordHash)
      if (isRefused(verified)) return verified
      if (!verified.matches) return refuse('wrong_current_password')
      return { holds: (_, current) => current.passwordHash === user.passwordHash }
    },
    otherwise: 'wrong_current_password',
  },
  mailedCode: {
    proof: 'mail',
    method: 'mail',
    check: async (code, user, caller) => {
      const checked = await mailedCodes.check(holderOf(caller), user.id, code)
      if (isRefused(checked)) return checked
      return { holds: (sql) => mailedCodes.take(sql, checked.id) }
    },
    otherwise: 'mailed_code_void',
  },
})

/** A request: what was given, what this browser kept of the challenge if that is a passkey, and who sent it. */
type Request = { given: GivenProof; kept: string | undefined; visit: Visit }

/** Proves again who the user of a session is. The session is fresh afterwards, and has new tokens. */
export const createStepUp = (deps: Dependencies) => {
  const { database, users, sessions, proofs, factors, passkeys, mailedCodes, events } = deps
  const ways = createWays(deps)

  /** The caller's user, and what counts as a proof for it. */
  const prover = async (caller: SessionCaller) => {
    const user = await users.findById(caller.userId)
    if (!user || user.disabled || !(await sessions.isLive(caller))) return refuse('not_authenticated')
    return { user, methods: await proofs.methodsFor(user) }
  }

  /** What was copied of the session before, by whomever, is worth nothing afterwards: only this answer has its tokens. */
  const renew = (caller: SessionCaller, way: Way, proven: Proven, client: Client) =>
    database.transaction(async (sql) => {
      const current = await users.lock(sql, caller.userId)
      if (!current || current.disabled) return refuse('not_authenticated')
      if (!(await proven.holds(sql, current))) return refuse(way.otherwise)
      const issued = await sessions.rotateWithoutGrace(sql, caller, current, client, way.method)
      return issued ?? refuse('not_authenticated')
    })

  /** A code of the app or a recovery code. What uses it up also renews the session. */
  const proveByCode = async (caller: SessionCaller, code: string, { client, knownDevices, language }: Visit) => {
    const { userId, sessionId } = caller
    const device = deps.knownDevices.find(userId, knownDevices ?? [])
    const issued = await factors.prove(
      { userId, code, client, device, language },
      async (sql, user, accept, method) => {
        if (!(await accept())) return refuse('wrong_second_factor')
        return (await sessions.rotateWithoutGrace(sql, caller, user, client, method)) ?? refuse('not_authenticated')
      },
    )
    const kind = isRefused(issued) ? 'step_up_failed' : 'stepped_up'
    await events.record({ kind, userId, sessionId, reason: 'code' }, client)
    return issued
  }

  /** The use of the passkey is written down in one transaction with the session's new tokens. */
  const proveByPasskey = async (caller: SessionCaller, credential: PasskeyCredential, { kept, visit }: Request) => {
    const { userId, sessionId } = caller
    const { client } = visit
    const proven = await passkeys.verify('step_up', { credential, kept, binding: sessionBinding(caller) }, userId)
    const issued = isRefused(proven)
      ? refuse('passkey_rejected')
      : await database.transaction(async (sql) => {
          const user = await users.lock(sql, userId)
          if (!user || user.disabled) return refuse('not_authenticated')
          if (!(await passkeys.accept(sql, proven))) return refuse('passkey_rejected')
          const rotated = await sessions.rotateWithoutGrace(sql, caller, user, client, 'passkey')
          return rotated ?? refuse('not_authenticated')
        })
    const kind = isRefused(issued) ? 'step_up_failed' : 'stepped_up'
    await events.record({ kind, userId, sessionId, reason: 'passkey' }, client)
    return issued
  }

  const proveBy = async (caller: SessionCaller, user: User, way: Way, value: string, client: Client) => {
    const { userId, sessionId } = caller
    const proven = await way.check(value, user, caller)
    if (isRefused(proven)) {
      if (proven.refused !== 'busy')
        await events.record({ kind: 'step_up_failed', userId, sessionId, reason: way.proof }, client)
      return proven
    }
    const issued = await renew(caller, way, proven, client)
    if (!isRefused(issued)) await events.record({ kind: 'stepped_up', userId, sessionId, reason: way.proof }, client)
    return issued
  }

  const prove = async (caller: SessionCaller, request: Request) => {
    const { given, visit } = request
    const { client } = visit
    if (Object.keys(given).length !== 1) return refuse('bad_request', { message: 'Send exactly one proof' })
    const found = await prover(caller)
    if (isRefused(found)) return found
    const { user, methods } = found
    const { code, credential, password, mailedCode } = given
    if (credential && methods.includes('passkey')) return proveByPasskey(caller, credential, request)
    if (code !== undefined && methods.includes('totp')) return proveByCode(caller, code, visit)
    if (password !== undefined && methods.includes('password'))
      return proveBy(caller, user, ways.password, password, client)
    if (mailedCode !== undefined && methods.includes('mail'))
      return proveBy(caller, user, ways.mailedCode, mailedCode, client)
    return refuse('fresh_sign_in_required', { methods })
  }

  const beginPasskey = async (caller: SessionCaller) => {
    const found = await prover(caller)
    if (isRefused(found)) return found
    const { methods } = found
    if (!methods.includes('passkey')) return refuse('fresh_sign_in_required', { methods })
    return passkeys.stepUpOptions(caller.userId, sessionBinding(caller))
  }

  /** Mails a code to an account that can prove it in no other way. */
  const mailCode = async (caller: SessionCaller, language: Language) => {
    const found = await prover(caller)
    if (isRefused(found)) return found
    const { user, methods } = found
    if (!methods.includes('mail')) return refuse('fresh_sign_in_required', { methods })
    await mailedCodes.send(holderOf(caller), user, 'step-up-code', language)
    return undefined
  }

  return {
    methods: async (caller: SessionCaller) => {
      const found = await prover(caller)
      return isRefused(found) ? found : { methods: found.methods }
    },
    prove,
    beginPasskey,
    mailCode,
  }
}
