import type { AttentionCode } from '../../contract/admin/admin-bodies.js'
import type { EventKind } from '../../contract/events.js'
import { type Clock, later } from '../../lib/clock.js'
import { days, minutes, seconds } from '../../lib/durations.js'
import { uuidFloor } from '../../lib/uuid.js'
import type { Database } from '../../platform/database/database.js'
import type { ApplicationKeys } from '../application-keys/application-keys.js'
import type { LogoutNotices } from '../logout-notices/logout-notices.js'
import { isOverdue } from '../signing-keys/schedule.js'
import type { SigningKeys } from '../signing-keys/signing-keys.js'
import type { Webhooks } from '../webhooks/webhooks.js'
import * as store from './stats.store.js'

export type Attention = { code: AttentionCode; message: string; count?: number; since?: Date; detail?: string }

type Dependencies = {
  database: Database
  clock: Clock
  webhooks: Pick<Webhooks, 'count' | 'oldestWaiting' | 'stoppedSince'>
  logoutNotices: Pick<LogoutNotices, 'count' | 'oldestWaiting'>
  signingKeys: Pick<SigningKeys, 'list'>
  applicationKeys: Pick<ApplicationKeys, 'list'>
  /** How many seconds this machine's clock is ahead of the database's. */
  clockOffset: () => number | undefined
}

/** A receiver that restarts is back by then, however many wait for it. */
const longWait = 15 * minutes
/** Links and codes in mails expire, the first after 10 minutes. */
const longWaitOfMails = 5 * minutes
/** In seconds: tokens then expire noticeably too early or too late. */
const toleratedOffset = 60
const refusedIn = 1 * days
const givenUpIn = 7 * days

const ofMails = async ({ database, clock }: Dependencies): Promise<Attention[]> => {
  const now = clock.now()
  const eventsIn = async (kind: EventKind, span: number) =>
    (await store.countEventsOfKind(database, kind, uuidFloor(later(now, -span))))[0]?.events ?? 0
  const [waiting] = await store.countLateMails(database, later(now, -longWaitOfMails))
  const { late = 0, since, last_error: answer } = waiting ?? {}
  const refused = await eventsIn('mail_refused', refusedIn)
  const givenUp = await eventsIn('mail_given_up', givenUpIn)
  const found: (Attention | false)[] = [
    late > 0 && {
      code: 'mails_failing',
      message: `${late} mails have waited for more than 5 minutes. ${answer ? `The last attempt failed: ${answer}.` : 'The log and `latchkey doctor` say why.'}`,
      count: late,
      ...(since && { since }),
      ...(answer && { detail: answer }),
    },
    refused > 0 && {
      code: 'mails_refused',
      message: `In 24 hours the mail server refused ${refused} mails for good. \`latchkey events --kind mail_refused\` says why.`,
      count: refused,
    },
    givenUp > 0 && {
      code: 'mails_given_up',
      message: `In 7 days ${givenUp} mails were given up, because the mail server did not take them in time. \`latchkey events --kind mail_given_up\` says why.`,
      count: givenUp,
    },
  ]
  return found.filter((each) => each !== false)
}

/** Since when something waits, if that is longer than it should. */
const lateSince = (clock: Clock, oldest: number) =>
  oldest * seconds > longWait ? later(clock.now(), -oldest * seconds) : undefined

const ofWebhooks = async ({ webhooks, clock }: Dependencies): Promise<Attention[]> => {
  const { waiting, givenUp } = await webhooks.count()
  const since = await webhooks.stoppedSince()
  const late = lateSince(clock, await webhooks.oldestWaiting())
  const found: (Attention | false)[] = [
    since !== undefined && {
      code: 'webhooks_stopped',
      message: 'No webhook is sent: the receiver answered 410. `latchkey webhooks retry` starts it again.',
      since,
    },
    givenUp > 0 && {
      code: 'webhooks_given_up',
      message: `${givenUp} webhooks were given up. \`latchkey webhooks list\` says why, and \`latchkey webhooks retry\` sends them again.`,
      count: givenUp,
    },
    late !== undefined && {
      code: 'webhooks_waiting',
      message: `${waiting} webhooks wait, the first for more than 15 minutes. \`latchkey webhooks list\` says why.`,
      count: waiting,
      since: late,
    },
  ]
  return found.filter((each) => each !== false)
}

const ofLogoutNotices = async ({ logoutNotices, clock }: Dependencies): Promise<Attention[]> => {
  const { waiting, givenUp } = await logoutNotices.count()
  const late = lateSince(clock, await logoutNotices.oldestWaiting())
  const found: (Attention | false)[] = [
    givenUp > 0 && {
      code: 'logout_notices_given_up',
      message: `Applications could not be told of ${givenUp} ended sessions. Their last errors say why.`,
      count: givenUp,
    },
    late !== undefined && {
      code: 'logout_notices_waiting',
      message: `Applications are still to be told of ${waiting} ended sessions, of the first for more than 15 minutes. Their last errors say why.`,
      count: waiting,
      since: late,
    },
  ]
  return found.filter((each) => each !== false)
}

type ListedKey = { state: string; signsFrom: Date }
type KeyCodes = { unreadable: AttentionCode; due: AttentionCode; of: string }

/** The keys of one algorithm. */
const ofKeys = (keys: readonly ListedKey[], now: Date, { unreadable, due, of }: KeyCodes): Attention[] => {
  const count = keys.filter(({ state }) => state === 'unopened').length
  const current = keys.find(({ state }) => state === 'current')
  const isDue = current && isOverdue(current.signsFrom, now) && !keys.some(({ state }) => state === 'waiting')
  return [
    ...(count > 0
      ? [{ code: unreadable, message: `A key of ${of} cannot be opened: SEALING_KEY is another one here.`, count }]
      : []),
    ...(isDue
      ? [
          {
            code: due,
            message: `The key of ${of} is older than 90 days, and no instance has replaced it.`,
            since: current.signsFrom,
          },
        ]
      : []),
  ]
}

const ofAllKeys = async ({ signingKeys, applicationKeys, clock }: Dependencies): Promise<Attention[]> => {
  const now = clock.now()
  const forApplications = await applicationKeys.list()
  const algorithms = [...new Set(forApplications.map(({ algorithm }) => algorithm))]
  return [
    ...ofKeys(await signingKeys.list(), now, {
      unreadable: 'signing_key_unreadable',
      due: 'signing_key_due',
      of: 'access tokens',
    }),
    ...algorithms.flatMap((algorithm) =>
      ofKeys(
        forApplications.filter((key) => key.algorithm === algorithm),
        now,
        { unreadable: 'application_key_unreadable', due: 'application_key_due', of: `ID tokens (${algorithm})` },
      ),
    ),
  ]
}

const ofClock = ({ clockOffset }: Dependencies): Attention[] => {
  const offset = Math.round(Math.abs(clockOffset() ?? 0))
  return offset > toleratedOffset
    ? [
        {
          code: 'clock_off',
          message: `The clock of this machine is ${offset} seconds off from the database's: run NTP on both.`,
          count: offset,
        },
      ]
    : []
}

/** What an operator should look at. `latchkey doctor` looks at more of it. */
export const createAttention = (deps: Dependencies) => async (): Promise<Attention[]> => [
  ...(await ofMails(deps)),
  ...(await ofWebhooks(deps)),
  ...(await ofLogoutNotices(deps)),
  ...(await ofAllKeys(deps)),
  ...ofClock(deps),
]
