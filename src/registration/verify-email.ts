import { isRefused, refuse } from '../contract/outcome.js'
import type { Client } from '../http/request-origin.js'
import type { Events } from '../messages/events.js'
import type { Passwords } from '../passwords/passwords.js'
import type { SignIns, Visit } from '../sign-in/sign-ins.js'
import type { CompleteRegistration } from './complete-registration.js'
import type { Registrations } from './registrations.js'

type Proof = { token?: string | undefined; code?: string | undefined; password?: string | undefined }

/** Completes a registration for the browser that began it, or with the password that was chosen. */
export const createVerifyEmail = (deps: {
  registrations: Registrations
  completeRegistration: CompleteRegistration
  passwords: Passwords
  signIns: SignIns
  events: Events
}) => {
  const { registrations, completeRegistration, passwords, signIns, events } = deps

  const byPassword = async (token: string, password: string, client: Client) => {
    const pending = await registrations.findForPassword(token)
    const verified = await passwords.verify(password, isRefused(pending) ? undefined : pending.passwordHash, client)
    if (isRefused(verified)) return verified
    // The link was valid a moment ago, so the refusal means that no tries are left.
    if (isRefused(pending)) return refuse('password_tries_used_up')
    return verified.matches ? pending : refuse('wrong_chosen_password')
  }

  const prove = async ({ token, code, password }: Proof, browserToken: string | undefined, client: Client) => {
    if (code !== undefined) return registrations.findByCode(code, browserToken)
    if (token === undefined) return refuse('invalid_link')
    const pending = await registrations.findByBrowser(token, browserToken)
    const needsPassword = isRefused(pending) && pending.refused === 'password_required'
    return needsPassword && password !== undefined ? byPassword(token, password, client) : pending
  }

  return async (proof: Proof, browserToken: string | undefined, visit: Visit) => {
    const pending = await prove(proof, browserToken, visit.client)
    if (isRefused(pending)) return pending
    const completed = await completeRegistration(pending)
    if (isRefused(completed)) return completed
    const { user, usedInvitation } = completed
    if (usedInvitation) await events.record({ kind: 'invitation_used', userId: user.id }, visit.client)
    return (await signIns.byRegistration(user, visit)) ?? refuse('invalid_link')
  }
}
