import { deviceName } from '../../contract/device-names.js'
import { deviceWords } from '../../contract/languages.js'
import { isRefused, refuse } from '../../contract/outcome.js'
import type { PasskeyCredential } from '../../contract/passkeys.js'
import type { Events } from '../../domain/events/events.js'
import type { Factors } from '../../domain/factors/factors.js'
import { sessionBinding } from '../../domain/passkeys/ceremonies.js'
import { type Passkeys, passkeyName } from '../../domain/passkeys/passkeys.js'
import type { Client } from '../../domain/sessions/client.js'
import { createLockedAccount } from '../../domain/sessions/locked-account.js'
import type { SessionCaller, Sessions } from '../../domain/sessions/sessions.js'
import type { Enrolments } from '../../domain/sign-in/enrolments.js'
import type { SignIns, Visit } from '../../domain/sign-in/sign-ins.js'
import type { Users } from '../../domain/users/users.js'
import { readDevice } from '../../lib/device.js'
import type { Database } from '../../platform/database/database.js'

type Dependencies = {
  database: Database
  users: Users
  sessions: Sessions
  passkeys: Passkeys
  factors: Pick<Factors, 'hasTotp'>
  events: Events
  signIns: Pick<SignIns, 'byEnrolment'>
  enrolments: Pick<Enrolments, 'findOpen'>
  /** Whether every account needs a second factor. */
  required: boolean
}
type Request = { caller: SessionCaller; client: Client }
type Made = { credential: PasskeyCredential; kept: string | undefined; name: string | undefined }

/** In the language of the page, as its list of devices has it. */
const nameFor = (name: string | undefined, { userAgent, language = 'en' }: Client) =>
  name ?? deviceName(readDevice(userAgent), deviceWords[language])

/** The passkeys of the caller's account. A route lets only fresh sessions add and remove them. */
export const createOwnPasskeys = (deps: Dependencies) => {
  const { users, sessions, passkeys, factors, events, signIns, enrolments, required } = deps
  const change = createLockedAccount(deps)

  return {
    begin: async (caller: SessionCaller) => {
      const user = await users.findById(caller.userId)
      if (!user || !(await sessions.isLive(caller))) return refuse('not_authenticated')
      return passkeys.registrationOptions(user, sessionBinding(caller))
    },

    add: async ({ credential, kept, name }: Made, { caller, client }: Request) => {
      const { userId, sessionId } = caller
      const made = await passkeys.verifyNew({ credential, kept, binding: sessionBinding(caller) })
      if (isRefused(made)) return made
      return change(caller, async (sql, user) => {
        const added = await passkeys.add(sql, user, made, { name: nameFor(name, client), client })
        if (!isRefused(added)) await events.recordInside(sql, { kind: 'passkey_added', userId, sessionId }, client)
        return added
      })
    },

    /** For a sign-in that cannot go on without a factor. */
    beginAtEnrolment: async (token: string) => {
      const open = await enrolments.findOpen(token)
      if (isRefused(open)) return open
      const { challenge, user } = open
      return passkeys.registrationOptions(user, sessionBinding({ userId: user.id, sessionId: challenge.id }))
    },

    /** Adds it and finishes the sign-in. */
    addAtEnrolment: async ({ credential, kept, name }: Made, token: string, visit: Visit) => {
      const open = await enrolments.findOpen(token)
      if (isRefused(open)) return open
      const binding = sessionBinding({ userId: open.user.id, sessionId: open.challenge.id })
      const made = await passkeys.verifyNew({ credential, kept, binding })
      if (isRefused(made)) return made
      const { client } = visit
      return signIns.byEnrolment({ token, second: 'passkey' }, visit, (sql, user) =>
        passkeys.add(sql, user, made, { name: nameFor(name, client), client }),
      )
    },

    rename: async (id: string, wanted: string, { caller, client }: Request) => {
      const name = passkeyName(wanted)
      if (name === null) return refuse('bad_request', { message: 'Choose a name that can be seen' })
      const { userId, sessionId } = caller
      return change(caller, async (sql) => {
        const renamed = await passkeys.rename(sql, id, userId, name)
        if (!renamed) return refuse('not_found')
        await events.recordInside(sql, { kind: 'passkey_renamed', userId, sessionId }, client)
        return renamed
      })
    },

    /** Ends the other sessions: one of them may have begun with this passkey. */
    remove: async (id: string, { caller, client }: Request) => {
      const { userId, sessionId } = caller
      return change(caller, async (sql, user) => {
        const isNeeded = required && !(await factors.hasTotp(userId, sql))
        const refused = await passkeys.remove(sql, user, id, { client, isNeeded })
        if (refused) return refused
        await sessions.endAll(userId, { except: sessionId, sql })
        await events.recordInside(sql, { kind: 'passkey_removed', userId, sessionId }, client)
        // Which passkey was used in this session is not stored: another one is asked for again.
        return sessions.rotateWithoutGrace(sql, caller, user, client, { withdrawn: ['passkey'] })
      })
    },
  }
}
