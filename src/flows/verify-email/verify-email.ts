import type { Events } from '../../domain/events/events.js'
import type { Passwords } from '../../domain/passwords/passwords.js'
import type { Registrations } from '../../domain/registrations/registrations.js'
import type { Client } from '../../domain/sessions/client.js'
import type { Sessions } from '../../domain/sessions/sessions.js'

export type VerifyEmailRefusal =
  | 'invalid_link'
  | 'invalid_code'
  | 'code_used_up'
  | 'confirmed'
  | 'replaced'
  | 'password_required'
  | 'invalid_credentials'
  | 'email_taken'
  | 'username_taken'
  | 'busy'

type Refused = { refused: VerifyEmailRefusal }
type Proof = { token?: string | undefined; code?: string | undefined; password?: string | undefined }

const codeRefusals = { invalid: 'invalid_code', used_up: 'code_used_up', confirmed: 'confirmed' } as const
const linkRefusals = { invalid: 'invalid_link', replaced: 'replaced', confirmed: 'confirmed' } as const

/** Completes a registration for the browser that began it, or for whoever also knows the password that was chosen. */
export const createVerifyEmail = (deps: {
  registrations: Registrations
  passwords: Passwords
  sessions: Sessions
  events: Events
}) => {
  const { registrations, passwords, sessions, events } = deps

  const byPassword = async (token: string, password: string) => {
    const pending = await registrations.findForPassword(token)
    const verified = await passwords.verify(password, 'refused' in pending ? undefined : pending.passwordHash)
    if ('refused' in verified) return verified
    if ('refused' in pending) return { refused: 'invalid_link' } satisfies Refused
    return verified.matches ? pending : ({ refused: 'invalid_credentials' } satisfies Refused)
  }

  const prove = async ({ token, code, password }: Proof, browser: string | undefined) => {
    if (code !== undefined) {
      const pending = await registrations.findByCode(code, browser)
      return 'refused' in pending ? ({ refused: codeRefusals[pending.refused] } satisfies Refused) : pending
    }
    if (token === undefined) return { refused: 'invalid_link' } satisfies Refused
    const pending = await registrations.findByBrowser(token, browser)
    if (!('refused' in pending)) return pending
    if (pending.refused !== 'password_required') return { refused: linkRefusals[pending.refused] } satisfies Refused
    return password === undefined ? ({ refused: 'password_required' } satisfies Refused) : byPassword(token, password)
  }

  return async (proof: Proof, browser: string | undefined, client: Client) => {
    const pending = await prove(proof, browser)
    if ('refused' in pending) return pending
    const user = await registrations.complete(pending)
    if ('refused' in user) return { refused: user.refused } satisfies Refused
    const issued = await sessions.start(user, client)
    await events.record({ kind: 'registered', userId: user.id, sessionId: issued.sessionId }, client)
    return issued
  }
}
