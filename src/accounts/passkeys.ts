import type { AccountChanges } from '../account-changes/account-changes.js'
import { isRefused, refuse } from '../contract/outcome.js'
import type { PasskeyCredential } from '../contract/passkeys.js'
import { type PasskeyCeremonies, sessionBinding } from '../factors/passkey-ceremonies.js'
import { type NewPasskey, type Passkeys, passkeyName } from '../factors/passkeys.js'
import type { Factors } from '../factors/second-factors.js'

import type { Client } from '../http/request-origin.js'
import { deviceIn } from '../messages/origin.js'
import type { Transaction } from '../platform/database/database.js'
import type { CallerContext } from '../sessions/session-facts.js'
import type { SessionLookups } from '../sessions/session-lookups.js'
import type { SessionCaller } from '../sessions/sessions.js'

import type { Enrolments } from '../sign-in/enrolments.js'
import type { SignIns, Visit } from '../sign-in/sign-ins.js'
import type { User, Users } from '../users/users.js'
import { passkeyBody } from './user-bodies.js'

type Dependencies = {
  accountChanges: AccountChanges
  users: Pick<Users, 'findById'>
  sessionLookups: Pick<SessionLookups, 'isLive'>
  passkeys: Passkeys
  passkeyCeremonies: PasskeyCeremonies
  factors: Pick<Factors, 'hasTotp'>
  /** Whether every account needs a second factor. */
  secondFactorRequired: boolean
}
type CreatedPasskey = { credential: PasskeyCredential; sealedChallenge: string | undefined; name: string | undefined }

/** The name of a new passkey. Without one, the device is named in the language of the page. */
const nameFor = (name: string | undefined, { userAgent, language = 'en' }: Client) =>
  name ?? deviceIn(language, userAgent)

const createAddTo =
  ({ passkeys }: Pick<Dependencies, 'passkeys'>) =>
  async (sql: Transaction, user: User, newPasskey: NewPasskey, name: string) => {
    const added = await passkeys.add(sql, user, newPasskey, name)
    if (isRefused(added)) return added
    const details = { mail: { passkeyName: added.name }, undo: { id: added.id } }
    return { result: passkeyBody(added), changes: { passkey_added: details } }
  }

type EnrolmentDependencies = Pick<Dependencies, 'passkeys' | 'passkeyCeremonies'> & {
  signIns: Pick<SignIns, 'byEnrolment'>
  enrolments: Pick<Enrolments, 'findOpen'>
}

/** The first factor of an account, added at a sign-in that cannot go on without one. */
export const createEnrolmentPasskeys = (deps: EnrolmentDependencies) => {
  const { passkeyCeremonies, signIns, enrolments } = deps
  const addTo = createAddTo(deps)

  return {
    begin: async (token: string) => {
      const open = await enrolments.findOpen(token)
      if (isRefused(open)) return open
      const { challenge, user } = open
      return passkeyCeremonies.registrationOptions(user, sessionBinding({ userId: user.id, sessionId: challenge.id }))
    },

    /** Adds the passkey and finishes the sign-in. */
    add: async ({ credential, sealedChallenge, name }: CreatedPasskey, token: string, visit: Visit) => {
      const open = await enrolments.findOpen(token)
      if (isRefused(open)) return open
      const binding = sessionBinding({ userId: open.user.id, sessionId: open.challenge.id })
      const newPasskey = await passkeyCeremonies.verifyNew({ credential, sealedChallenge, binding })
      if (isRefused(newPasskey)) return newPasskey
      const { client } = visit
      return signIns.byEnrolment({ token, second: 'passkey' }, visit, (sql, user) =>
        addTo(sql, user, newPasskey, nameFor(name, client)),
      )
    },
  }
}

/** The passkeys of the caller's account. The routes let only fresh sessions add and remove them. */
export const createOwnPasskeys = (deps: Dependencies) => {
  const { accountChanges, users, sessionLookups, passkeys, passkeyCeremonies, factors, secondFactorRequired } = deps

  const addTo = createAddTo(deps)

  return {
    begin: async (caller: SessionCaller) => {
      const user = await users.findById(caller.userId)
      if (!user || !(await sessionLookups.isLive(caller))) return refuse('not_authenticated')
      return passkeyCeremonies.registrationOptions(user, sessionBinding(caller))
    },

    add: async (context: CallerContext, { credential, sealedChallenge, name }: CreatedPasskey) => {
      const { caller, client } = context
      const newPasskey = await passkeyCeremonies.verifyNew({
        credential,
        sealedChallenge,
        binding: sessionBinding(caller),
      })
      if (isRefused(newPasskey)) return newPasskey
      const added = await accountChanges.byCaller(context, 'passkey_added', (sql, user) =>
        addTo(sql, user, newPasskey, nameFor(name, client)),
      )
      return isRefused(added) ? added : added.result
    },

    rename: async (context: CallerContext, id: string, typedName: string) => {
      const name = passkeyName(typedName)
      if (name === null) return refuse('bad_request', { message: 'Choose a name with visible characters' })
      const renamed = await accountChanges.byCaller(context, 'passkey_renamed', async (sql, user) => {
        const passkey = await passkeys.rename(sql, id, user.id, name)
        return passkey ? { result: passkeyBody(passkey), changes: { passkey_renamed: {} } } : refuse('not_found')
      })
      return isRefused(renamed) ? renamed : renamed.result
    },

    remove: (context: CallerContext, id: string) =>
      accountChanges.byCaller(context, 'passkey_removed', async (sql, user) => {
        const mustKeepPasskey = secondFactorRequired && !(await factors.hasTotp(sql, user.id))
        const removed = await passkeys.remove(sql, user, id, { mustKeepPasskey })
        if (isRefused(removed)) return removed
        return { changes: { passkey_removed: { mail: { passkeyName: removed.name } } } }
      }),
  }
}
