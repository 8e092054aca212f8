import type { EventDetails } from '../contract/configuration.js'
import type { EventKind } from '../contract/events.js'
import type { RequestOrigin } from '../http/request-origin.js'
import type { Transaction } from '../platform/database/database.js'
import type { Administrators } from '../sessions/administrators.js'
import { tellAdministrators } from './administrator-trail.js'
import { changesInMail } from './configuration-changes.js'
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

/** A thing in a mail: `Wiki (application)`. The words of the file are the same in every language. */
const thingOf = ({ kind, name }: EventDetails) => `${name} (${kind})`

export type ConfigurationTrail = ReturnType<typeof createConfigurationTrail>

/**
 * Records a change of what operators set, in its transaction. What an administrator does in the browser is mailed to all administrators with
 * both values.
 */
export const createConfigurationTrail = (needed: {
  events: Pick<Events, 'recordInside'>
  mails: Pick<Mails, 'tell'>
  administrators: Pick<Administrators, 'roles'>
}) => ({
  record: async (sql: Transaction, change: Change, origin: RequestOrigin) => {
    const eventId = await needed.events.recordInside(sql, change, origin)
    const actorId = origin.actor?.userId
    if (actorId === undefined) return
    const { details } = change
    const values = {
      action: actionOf(change.kind),
      thing: thingOf(details),
      ...changesInMail({ ...details.before }, { ...details.after }),
      token: eventId,
    }
    await tellAdministrators(needed, sql, { origin, actorId }, { template: 'configuration-changed', values })
  },
})
