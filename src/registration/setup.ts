import { isRefused, type Refused, refuse } from '../contract/outcome.js'
import { type Groups, joinedByInvitation } from '../groups/groups.js'
import type { Client } from '../http/request-origin.js'
import type { Clock } from '../lib/clock.js'
import { hours } from '../lib/durations.js'
import { fingerprint, randomToken } from '../lib/random.js'
import type { MessagesRoom } from '../messages/open-messages.js'
import { commitUnlessRefused, type Database, type Sql, type Transaction } from '../platform/database/database.js'
import type { SessionsRoom } from '../sessions/open-sessions.js'
import { isNameViolation } from '../users/login-names.js'
import type { NewUser } from '../users/new-users.js'
import type { UsersRoom } from '../users/open-users.js'
import type { User } from '../users/users.js'
import * as store from './setup.store.js'

const linkLifetime = 1 * hours

/** The group that the setup makes if ADMIN_GROUP names none. */
const defaultAdminGroup = 'administrators'

type Services = UsersRoom &
  SessionsRoom &
  MessagesRoom & {
    database: Database
    clock: Clock
    groups: Groups
    publicUrl: string
    /** ADMIN_GROUP. Empty (`null`): the first account is no administrator's. */
    adminGroup: string | null | undefined
  }

type SetupRefusal = Refused<'already_set_up' | 'invalid_setup_token' | 'admin_group_needed' | 'username_taken'>

/**
 * The first start: while there is no user, a link from the log lets whoever has it make the first account, which is an administrator's.
 */
export const createSetup = (services: Services) => {
  const { database, clock, publicUrl, adminGroup, newUsers, userChanges, groups, administrators, events } = services

  const refusalFor = async (sql: Sql, token: string) => {
    const [standing] = await store.selectStanding(sql, fingerprint(token), clock.offset())
    if (standing?.has_users !== false) return refuse('already_set_up')
    return standing.is_valid ? undefined : refuse('invalid_setup_token')
  }

  /** The group of administrators, which is made if it is missing. Undefined if ADMIN_GROUP is empty. */
  const makeAdminGroup = async (sql: Transaction, client: Client) => {
    if (adminGroup === null) return undefined
    const { admin, roleOf } = await administrators.roles(sql)
    if (admin !== undefined) {
      await groups.addInside(sql, admin, client)
      return admin
    }
    // An operator may have made a group of this name for an application. It must not become that of administrators by its name.
    const isFree = roleOf(defaultAdminGroup) === undefined && (await groups.addInside(sql, defaultAdminGroup, client))
    if (!isFree) return refuse('admin_group_needed')
    await administrators.storeGroup(sql, defaultAdminGroup)
    return defaultAdminGroup
  }

  /** Makes the new account that of an administrator, in the transaction that creates it. */
  const makeAdministrator = async (sql: Transaction, user: User, client: Client) => {
    const group = await makeAdminGroup(sql, client)
    if (isRefused(group)) return group
    if (group === undefined) return user
    const joined = await groups.change(sql, user, { add: [group] })
    if (isRefused(joined)) throw new Error(`The first account cannot join ${group}: ${joined.refused}`)
    const reason = joinedByInvitation([group], 'setup')
    await events.recordInside(sql, { kind: 'group_joined', userId: user.id, reason }, client)
    return user
  }

  return {
    /** A new link, which works for an hour. Earlier links work on. Undefined if there is a user. */
    makeLink: () =>
      database.transaction(async (sql) => {
        await store.lockSetup(sql)
        const token = randomToken()
        const made = await store.insertToken(sql, fingerprint(token), linkLifetime, clock.offset())
        return made.length > 0 ? `${publicUrl}/api/auth/setup#token=${token}` : undefined
      }),

    /** How an operator makes the first administrator, if users came in another way. Undefined if there is one, or none is wanted. */
    adviceWithoutAdministrator: async () => {
      if (adminGroup === null) return undefined
      const { admin } = await administrators.roles()
      if (admin !== undefined && (await store.selectMember(database, admin)).length > 0) return undefined
      const group = admin ?? 'admins'
      const commands = `\`latchkey group add ${group}\` and \`latchkey user groups USER --add ${group}\``
      const setting = admin === undefined ? `, and ADMIN_GROUP=${group}` : ''
      return `there are users, and none is an administrator: ${commands} make the first one${setting}`
    },

    /** Undefined if the token may make the first account. */
    refusalFor: (token: string) => refusalFor(database, token),

    /** Creates the first account. Its address is only claimed, so its first second factor needs no mailed code for a day. */
    createAdministrator: async (token: string, user: NewUser, client: Client): Promise<User | SetupRefusal> =>
      commitUnlessRefused(database, async (sql): Promise<User | SetupRefusal> => {
        await store.lockSetup(sql)
        const refusal = await refusalFor(sql, token)
        if (refusal) return refusal
        const created = await newUsers.create(sql, { ...user, emailProven: false, emailClaimed: true })
        // Without a user, only a name that is kept for a deleted one can be taken.
        if (isRefused(created)) return refuse('username_taken')
        await userChanges.openEnrolment(sql, created.id)
        return makeAdministrator(sql, created, client)
      }).catch((error: unknown) => {
        if (isNameViolation(error, 'username')) return refuse('username_taken')
        throw error
      }),
  }
}
