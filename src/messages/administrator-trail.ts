import type { RequestOrigin } from '../http/request-origin.js'
import type { Transaction } from '../platform/database/database.js'
import type { Administrators } from '../sessions/administrators.js'
import type { User } from '../users/users.js'
import * as store from './administrator-trail.store.js'
import type { Event, Events } from './events.js'
import type { AdministratorChange, MailValues } from './letters.js'
import type { Mails } from './mails.js'

type Needed = {
  events: Pick<Events, 'recordInside'>
  mails: Pick<Mails, 'tell'>
  administrators: Pick<Administrators, 'roles'>
}

type Told = { id: string; email: string }
type ToldKind = 'configuration-changed' | 'administrator-changed'
type Notice = { [Kind in ToldKind]: { template: Kind; values: Omit<MailValues[Kind], 'administrator'> } }[ToldKind]

/**
 * Mails all administrators what one of them, or support, has done in the browser: one mailbox, or one session, must not be enough without
 * the others noticing. `before`: an administrator until the change.
 */
export const tellAdministrators = async (
  { mails, administrators }: Pick<Needed, 'mails' | 'administrators'>,
  sql: Transaction,
  { origin, actorId, before }: { origin: RequestOrigin; actorId: string; before?: Told | undefined },
  { template, values }: Notice,
) => {
  const { admin } = await administrators.roles(sql)
  if (admin === undefined) return
  const people = await store.selectMembersAnd(sql, admin, actorId)
  const members: Told[] = people.filter(({ is_member }) => is_member)
  const missing = before && members.every(({ id }) => id !== before.id) ? [before] : []
  const administrator = people.find(({ id }) => id === actorId)?.username ?? ''
  const mail = { template, values: { administrator, ...values }, client: origin } as const
  for (const { id: userId, email: to } of [...members, ...missing])
    await mails.tell(sql, { ...mail, to, userId } as Parameters<Mails['tell']>[1])
}

/** After these the address may be a thief's, or is nobody's any more. Their own mails tell the user. */
const changesThatEndTrust: readonly AdministratorChange[] = ['user_locked_down', 'user_deleted']

export type AdministratorTrail = ReturnType<typeof createAdministratorTrail>

/**
 * Records a change of an account. If an administrator has made it in the browser, and the account is or becomes one of an administrator or
 * of support, it is mailed to all who were administrators before or are after it. Otherwise an accomplice could be put into the group, and
 * the others out of it, and later mails would reach nobody else.
 */
export const createAdministratorTrail = (needed: Needed) => ({
  /** `user`: as it was before the change. */
  record: async (
    sql: Transaction,
    { event, user, change }: { event: Event; user: User; change: AdministratorChange | undefined },
    client: RequestOrigin,
  ) => {
    const token = await needed.events.recordInside(sql, event, client)
    const { userId: actorId, reason } = client.actor ?? {}
    if (actorId === undefined || change === undefined) return
    const { admin, roleOf } = await needed.administrators.roles(sql)
    const groups = change === 'group_joined' || change === 'group_left' ? event.reason : undefined
    const joined = change === 'group_joined' ? (groups?.split(',') ?? []) : []
    if (![...user.groups, ...joined].some(roleOf)) return
    const wasTold = admin !== undefined && user.groups.includes(admin) && !user.disabled
    const before = wasTold && !changesThatEndTrust.includes(change) ? user : undefined
    const values = { account: user.username, accountChange: { change, groups }, reason, token }
    await tellAdministrators(
      needed,
      sql,
      { origin: client, actorId, before },
      { template: 'administrator-changed', values },
    )
  },
})
