import { basename } from 'node:path'
import type { AttentionCode } from '../contract/admin/admin-bodies.js'
import type { EventKind } from '../contract/events.js'
import { timeSpan } from '../contract/time-spans.js'
import { isOverdue, signingPeriod } from '../keys/schedule.js'
import type { SigningKeys } from '../keys/signing-keys.js'
import { type Clock, later } from '../lib/clock.js'
import { days, minutes, seconds } from '../lib/durations.js'
import { countText } from '../lib/text.js'
import { uuidFloor } from '../lib/uuid.js'
import type { Webhooks } from '../messages/webhooks.js'
import type { LogoutNotices } from '../openid/logout/logout-notices.js'
import type { Database } from '../platform/database/database.js'
import * as store from './stats.store.js'

/** Something that an operator should look at. A list has each code once. */
export type Attention = { code: AttentionCode; message: string; count?: number; since?: Date; detail?: string }

type Needed = {
  database: Database
  clock: Clock
  webhooks: Pick<Webhooks, 'count' | 'oldestWaitSeconds' | 'stoppedSince'>
  logoutNotices: Pick<LogoutNotices, 'count' | 'oldestWaitSeconds'>
  signingKeys: Pick<SigningKeys, 'list'>
  applicationKeys: Pick<SigningKeys, 'list'>
  /** How many seconds this machine's clock is ahead of the database's. */
  clockOffsetSeconds: () => number | undefined
  /** The free bytes on the disk of our own database; undefined if the database is elsewhere. */
  freeSpace: () => Promise<number | undefined>
  /** The path of CONFIGURATION_FILE. */
  configurationFile: string | undefined
}

type Finding = Attention | false

/** A receiver that restarts is back within this time, however many webhooks wait for it. */
const longWait = 15 * minutes
/** Links and codes in mails expire, the first after 10 minutes. */
const longMailWait = 5 * minutes
/** If the clocks differ by more, tokens expire noticeably too early or too late. */
const toleratedOffset = 1 * minutes
const refusedMailsWindow = 1 * days
const givenUpMailsWindow = 7 * days
const ceilingsWindow = 1 * days
const releasedWindow = 7 * days

const inWords = (milliseconds: number) => timeSpan(milliseconds, 'en')

const countEvents = async (database: Database, clock: Clock, kind: EventKind, window: number) =>
  (await store.countEventsOfKind(database, kind, uuidFloor(later(clock.now(), -window))))[0]?.events ?? 0

const checkMails = async ({ database, clock }: Needed): Promise<Finding[]> => {
  const [lateMails] = await store.countLateMails(database, later(clock.now(), -longMailWait))
  const { late_count: lateCount = 0, since, last_error: lastError } = lateMails ?? {}
  const refusedCount = await countEvents(database, clock, 'mail_refused', refusedMailsWindow)
  const givenUpCount = await countEvents(database, clock, 'mail_given_up', givenUpMailsWindow)
  const reason = lastError ? `The last attempt failed: ${lastError}.` : '`latchkey doctor` and the log say why.'
  return [
    lateCount > 0 && {
      code: 'mails_failing',
      message: `${countText(lateCount, 'mail has', 'mails have')} waited for more than ${inWords(longMailWait)}. ${reason}`,
      count: lateCount,
      ...(since && { since }),
      ...(lastError && { detail: lastError }),
    },
    refusedCount > 0 && {
      code: 'mails_refused',
      message: `The mail server refused ${countText(refusedCount, 'mail')} for good in the last ${inWords(refusedMailsWindow)}. \`latchkey events --kind mail_refused\` shows its answers.`,
      count: refusedCount,
    },
    givenUpCount > 0 && {
      code: 'mails_given_up',
      message: `${countText(givenUpCount, 'mail was', 'mails were')} given up in the last ${inWords(givenUpMailsWindow)}, because the mail server did not accept them in time. \`latchkey events --kind mail_given_up\` shows its answers.`,
      count: givenUpCount,
    },
  ]
}

const checkCeilings = async ({ database, clock }: Needed): Promise<Finding> => {
  const count = await countEvents(database, clock, 'ceiling_reached', ceilingsWindow)
  return (
    count > 0 && {
      code: 'ceiling_reached',
      message: `${countText(count, 'limit of the whole service was', 'limits of the whole service were')} reached in the last ${inWords(ceilingsWindow)}. \`latchkey events --kind ceiling_reached\` names them.`,
      count,
    }
  )
}

/** When the oldest entry began to wait. Undefined if it has not waited for too long. */
const lateSince = (clock: Clock, oldestWaitSeconds: number) => {
  const wait = oldestWaitSeconds * seconds
  return wait > longWait ? later(clock.now(), -wait) : undefined
}

const checkWebhooks = async ({ webhooks, clock }: Needed): Promise<Finding[]> => {
  const { waiting, givenUp } = await webhooks.count()
  const stoppedSince = await webhooks.stoppedSince()
  const waitingSince = lateSince(clock, await webhooks.oldestWaitSeconds())
  return [
    stoppedSince !== undefined && {
      code: 'webhooks_stopped',
      message: 'No webhook is sent, because the receiver answered 410. `latchkey webhooks retry` starts them again.',
      since: stoppedSince,
    },
    givenUp > 0 && {
      code: 'webhooks_given_up',
      message: `${countText(givenUp, 'webhook was', 'webhooks were')} given up. \`latchkey webhooks list\` says why, and \`latchkey webhooks retry\` sends them again.`,
      count: givenUp,
    },
    waitingSince !== undefined && {
      code: 'webhooks_waiting',
      message: `${countText(waiting, 'webhook waits', 'webhooks wait')}, the oldest for more than ${inWords(longWait)}. \`latchkey webhooks list\` says why.`,
      count: waiting,
      since: waitingSince,
    },
  ]
}

const checkLogoutNotices = async ({ logoutNotices, clock }: Needed): Promise<Finding[]> => {
  const { waiting, givenUp } = await logoutNotices.count()
  const waitingSince = lateSince(clock, await logoutNotices.oldestWaitSeconds())
  const help =
    '`latchkey doctor` names the applications, and `latchkey application show NAME` shows the last error of one.'
  return [
    givenUp > 0 && {
      code: 'logout_notices_given_up',
      message: `${countText(givenUp, 'logout notice was', 'logout notices were')} given up: the application was not told that the session has ended. ${help}`,
      count: givenUp,
    },
    waitingSince !== undefined && {
      code: 'logout_notices_waiting',
      message: `${countText(waiting, 'logout notice waits', 'logout notices wait')}, the oldest for more than ${inWords(longWait)}: the application was not told yet that the session has ended. ${help}`,
      count: waiting,
      since: waitingSince,
    },
  ]
}

type ListedKey = { state: string; signsFrom: Date; algorithm?: string }
type KeyUse = { tokens: string; unreadable: AttentionCode; due: AttentionCode }

/** The key that signs, if the next one should have replaced it. The keys of one algorithm sign one after the other. */
const overdueKeys = (keys: readonly ListedKey[], now: Date) => {
  const hasNext = keys.some(({ state }) => state === 'waiting')
  return keys.filter(({ state, signsFrom }) => state === 'current' && !hasNext && isOverdue(signsFrom, now))
}

const checkKeys = (keys: readonly ListedKey[], now: Date, { tokens, unreadable, due }: KeyUse): Finding[] => {
  const algorithms = [...new Set(keys.map(({ algorithm }) => algorithm))]
  const allOverdueKeys = algorithms.flatMap((algorithm) =>
    overdueKeys(
      keys.filter((key) => key.algorithm === algorithm),
      now,
    ),
  )
  const unopened = keys.filter(({ state }) => state === 'unopened')
  const [oldest] = allOverdueKeys
    .map(({ signsFrom }) => signsFrom)
    .toSorted((one, other) => one.getTime() - other.getTime())
  return [
    unopened.length > 0 && {
      code: unreadable,
      message: `${countText(unopened.length, 'key')} for ${tokens} cannot be opened with the SEALING_KEY of this instance. Give every instance the same SEALING_KEY.`,
      count: unopened.length,
    },
    oldest !== undefined && {
      code: due,
      message: `${countText(allOverdueKeys.length, 'key')} for ${tokens} should have been replaced after ${inWords(signingPeriod)}. \`latchkey keys rotate\` makes a new one.`,
      since: oldest,
    },
  ]
}

const checkAllKeys = async ({ signingKeys, applicationKeys, clock }: Needed): Promise<Finding[]> => {
  const now = clock.now()
  const accessTokens = {
    tokens: 'access tokens',
    unreadable: 'signing_key_unreadable',
    due: 'signing_key_due',
  } as const
  const idTokens = {
    tokens: 'ID tokens',
    unreadable: 'application_key_unreadable',
    due: 'application_key_due',
  } as const
  return [
    ...checkKeys(await signingKeys.list(), now, accessTokens),
    ...checkKeys(await applicationKeys.list(), now, idTokens),
  ]
}

const checkClock = ({ clockOffsetSeconds }: Needed): Finding => {
  const offset = Math.round(Math.abs(clockOffsetSeconds() ?? 0))
  return (
    offset * seconds > toleratedOffset && {
      code: 'clock_off',
      message: `The clocks of this machine and of the database differ by ${offset} seconds: run NTP on both.`,
      count: offset,
    }
  )
}

/** The file of CONFIGURATION_FILE, and what it has left to others. */
const checkConfiguration = async ({ database, clock, configurationFile }: Needed): Promise<Finding[]> => {
  const [file] =
    configurationFile === undefined ? [] : await store.selectConfigurationFault(database, basename(configurationFile))
  const releasedCount = await countEvents(database, clock, 'configuration_released', releasedWindow)
  const withoutSecret = (await store.countWithoutSecret(database))[0]?.applications ?? 0
  return [
    file?.fault != null && {
      code: 'configuration_refused',
      message: `CONFIGURATION_FILE could not be applied, and everything stays as it was: ${file.fault}`,
      since: file.tried_at,
      detail: file.fault,
    },
    releasedCount > 0 && {
      code: 'configuration_released',
      message: `A configuration file does not name ${countText(releasedCount, 'thing')} any more, in the last ${inWords(releasedWindow)}. \`latchkey events --kind configuration_released\` names them: pages and commands may change them now.`,
      count: releasedCount,
    },
    withoutSecret > 0 && {
      code: 'application_without_secret',
      message: `${countText(withoutSecret, 'application has', 'applications have')} no secret, and cannot sign anybody in. \`latchkey application secret add APPLICATION\` adds one.`,
      count: withoutSecret,
    },
  ]
}

const megabyte = 1_000_000
/** When the disk is full, PostgreSQL stops. */
const littleSpace = 1_000 * megabyte

const checkSpace = async ({ freeSpace }: Needed): Promise<Finding> => {
  const bytes = await freeSpace()
  if (bytes === undefined || bytes >= littleSpace) return false
  const count = Math.floor(bytes / megabyte)
  return {
    code: 'disk_nearly_full',
    message: `The disk of the database has ${count} MB left: free some space. When it is full, nobody can sign in.`,
    count,
  }
}

/** Lists what an operator should look at. `latchkey doctor` checks more. */
export const createAttention = (deps: Needed) => async (): Promise<Attention[]> => {
  const findings = [
    ...(await checkMails(deps)),
    ...(await checkWebhooks(deps)),
    ...(await checkLogoutNotices(deps)),
    ...(await checkAllKeys(deps)),
    await checkCeilings(deps),
    ...(await checkConfiguration(deps)),
    checkClock(deps),
    await checkSpace(deps),
  ]
  return findings.filter((finding) => finding !== false)
}
