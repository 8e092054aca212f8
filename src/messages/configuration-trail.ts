import type { EventDetails } from '../contract/configuration.js'
import type { EventKind } from '../contract/events.js'
import type { RequestOrigin } from '../http/request-origin.js'
import type { Transaction } from '../platform/database/database.js'
import type { Administrators } from '../sessions/administrators.js'
import * as store from './configuration-trail.store.js'
import type { Events } from './events.js'
import type { ConfigurationAction } from './letters.js'
import type { Mails } from './mails.js'

/** The events of such changes. */
export type ConfigurationEventKind = Extract<
  EventKind,
  | 'application_added'
  | 'application_changed'
  | 'application_deleted'
  | 'resource_added'
  | 'resource_changed'
  | 'resource_deleted'
  | 'setting_changed'
>

type Change = { kind: ConfigurationEventKind; reason: string; details: EventDetails }

/** What was done: the last word of the kind. */
const actionOf = (kind: ConfigurationEventKind) => kind.slice(kind.indexOf('_') + 1) as ConfigurationAction

const longestValue = 1_000

/** A value in a mail: `redirect: https://a.example/callback, https://b.example/callback; factors: 2`. */
const textOf = (value: object | undefined, none: string) => {
  const parts = Object.entries(value ?? {}).map(([name, each]) => `${name}: ${[each].flat().join(', ') || none}`)
  const text = parts.join('; ') || none
  return text.length > longestValue ? `${text.slice(0, longestValue)}…` : text
}

/** A thing in a mail: `Wiki (application)`. The words of the file are the same in every language. */
const thingOf = ({ kind, name }: EventDetails) => `${name} (${kind})`

export type ConfigurationTrail = ReturnType<typeof createConfigurationTrail>

/**
 * Records a change of what operators set, in its transaction. What an administrator does in the browser is mailed to all administrators with
 * both values: one mailbox, or one session, must not be enough to change an address without the others noticing.
 */
export const createConfigurationTrail = ({
  events,
  mails,
  administrators,
}: {
  events: Pick<Events, 'recordInside'>
  mails: Pick<Mails, 'queue'>
  administrators: Pick<Administrators, 'roles'>
}) => ({
  record: async (sql: Transaction, change: Change, origin: RequestOrigin) => {
    const eventId = await events.recordInside(sql, change, origin)
    const actorId = origin.actor?.userId
    if (actorId === undefined) return
    const { admin } = await administrators.roles(sql)
    const { details } = change
    const people = admin === undefined ? [] : await store.selectMembers(sql, admin)
    const administrator = people.find(({ id }) => id === actorId)?.username ?? ''
    const values = {
      action: actionOf(change.kind),
      administrator,
      thing: thingOf(details),
      before: textOf(details.before, '-'),
      after: textOf(details.after, '-'),
      token: eventId,
    }
    for (const { id: userId, email: to } of people)
      await mails.queue(sql, { to, userId, template: 'configuration-changed', values, client: origin })
  },
})
