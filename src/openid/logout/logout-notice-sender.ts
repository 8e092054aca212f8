import type { BaseLogger } from 'pino'
import { reasonOf } from '../../lib/caught.js'
import type { Clock } from '../../lib/clock.js'
import { days, minutes, seconds } from '../../lib/durations.js'
import type { Database } from '../../platform/database/database.js'
import { type Outbound, OutboundFailed, type OutboundFailure } from '../../platform/outbound/outbound.js'
import { createRounds, deliverInLanes, lease, recordDelivery, scatterPause } from '../../platform/rounds.js'

import { isRefusal } from './logout-notices.js'
import * as store from './logout-notices.store.js'

/** The pauses before the second attempt at a notice, the third, and so on. The last pause repeats. */
const noticePauses = [5 * seconds, 30 * seconds, 2 * minutes, 5 * minutes, 10 * minutes]
/** The pauses of all notices to one application after failures in a row. So a server that is down or busy is not tried for each notice. */
const applicationPauses = [5 * seconds, 15 * seconds, 30 * seconds, 1 * minutes]
/**
 * How many refused notices pause nothing, and the pause after each further one. So a notice that an application refuses delays no other,
 * and an application that refuses 100,000 is asked four times a second.
 */
const refusals = { burst: 60, spacing: 0.25 * seconds }
const retryPeriod = 1 * days
/** How often this process looks for notices that it was not told of: another program has written them, or their pause is over. */
const interval = 1 * seconds

type NoticeOutcome = 'delivered' | 'refused' | 'failed' | 'given_up'

type NotifiedApplication = {
  id: string
  name: string
  algorithm: 'RS256' | 'ES256'
  backchannelLogout: string | undefined
}

export type SenderParts = {
  database: Database
  clock: Clock
  applications: { find(id: string): Promise<NotifiedApplication | undefined> }
  logoutTokens: { issue(about: { client: NotifiedApplication; sid: string; userId: string }): Promise<string> }
  applicationErrors: {
    note(application: NotifiedApplication, kind: 'logout_notice' | 'logout_refused', sentence: string): void
  }
  outbound: Outbound
  onOutcome: (outcome: NoticeOutcome) => void
  log: Pick<BaseLogger, 'warn' | 'error'>
}

/** The sentences that an operator reads in the errors of the application. */
const failureSentences: Record<OutboundFailure, string> = {
  busy: 'was not asked, because too many requests of this service to it are under way',
  connect_timeout: 'did not accept the connection in time',
  encoded: 'sent a compressed answer',
  forbidden: 'does not use https',
  private_address:
    'is in a private network or on this machine (BACKCHANNEL_ALLOW_PRIVATE=true allows that, but never link-local addresses)',
  timeout: 'did not answer in time',
  tls: 'has a certificate that is not accepted',
  too_large: 'sent an answer that is too large',
  unreachable: 'cannot be reached',
}

/** `status` is 0 if there was no answer. */
type AttemptResult = { status: number; failure: string; sentence: string }

/** Signs the notice and posts it (OpenID Connect Back-Channel Logout 1.0, 2.5). Redirects are not followed. */
const attempt = async (
  { logoutTokens, outbound }: SenderParts,
  application: NotifiedApplication,
  address: string,
  { sid, user_id: userId }: store.DueNotice,
): Promise<AttemptResult> => {
  try {
    const token = await logoutTokens.issue({ client: application, sid, userId })
    const { status } = await outbound.withDeadline()(address, {
      method: 'POST',
      headers: { 'user-agent': 'latchkey' },
      body: new URLSearchParams({ logout_token: token }),
    })
    return { status, failure: `answered ${status}`, sentence: `answered ${status}` }
  } catch (error) {
    if (!(error instanceof OutboundFailed))
      return { status: 0, failure: reasonOf(error), sentence: 'was not asked, as the notice could not be signed' }
    return { status: 0, failure: error.code, sentence: failureSentences[error.code] }
  }
}

const finish = async ({ database, onOutcome }: SenderParts, notice: store.DueNotice, outcome: NoticeOutcome) => {
  await recordDelivery(() => store.deleteNotice(database, notice.id))
  await store.endPause(database, notice.application_id)
  onOutcome(outcome)
  return true
}

const fail = async (parts: SenderParts, notice: store.DueNotice, { status, failure }: AttemptResult) => {
  const { database, clock, onOutcome, log } = parts
  const offset = clock.offset()
  const base = noticePauses[Math.min(notice.attempts, noticePauses.length) - 1] ?? 0
  const pause = scatterPause(base, Math.random())
  const [failedNotice] = await store.markFailed(database, notice, { failure, pause, retryPeriod, offset })
  const goesOn = isRefusal(status)
  if (goesOn) await store.countRefusal(database, notice.application_id, { ...refusals, offset })
  else await store.pause(database, notice.application_id, applicationPauses, offset)
  onOutcome(failedNotice?.given_up ? 'given_up' : 'failed')
  const { id, application_id: application, attempts } = notice
  const details = { notice: id, application, attempts, reason: failure }
  if (failedNotice?.given_up) log.error(details, 'logout notice given up')
  else log.warn(details, 'logout notice could not be delivered yet')
  return goesOn
}

/** Tells one application of one ended session. Returns whether to go on with the next notice to the application. */
const deliver = async (parts: SenderParts, notice: store.DueNotice) => {
  const { database, applications, applicationErrors, log } = parts
  const application = await applications.find(notice.application_id)
  const address = application?.backchannelLogout
  // The application is deleted, or does not want to be told any more.
  if (!application || address === undefined) {
    await store.deleteNotice(database, notice.id)
    return true
  }
  const result = await attempt(parts, application, address, notice)
  const { status, failure, sentence } = result
  if (status >= 200 && status < 300) return finish(parts, notice, 'delivered')
  const isFinal = status === 400
  const kind = isFinal ? 'logout_refused' : 'logout_notice'
  const { origin } = new URL(address)
  const told = isRefusal(status)
    ? `logout notices are refused with ${status}: ${origin}`
    : `logout notice: ${origin} ${sentence}`
  applicationErrors.note(application, kind, told)
  if (!isFinal) return fail(parts, notice, result)
  // The application has understood the notice and refuses it. It would refuse another attempt too.
  log.warn({ notice: notice.id, application: application.id, reason: failure }, 'logout notice refused')
  return finish(parts, notice, 'refused')
}

/**
 * Sends the notices of each application in its own queue, so that an application that is slow or down delays no other. The timeout of a
 * request is 15 seconds, which is shorter than the lease.
 */
export const createLogoutNoticeSender = (parts: SenderParts) => {
  const { database, clock, log } = parts
  const queues = new Map<string, Promise<void>>()

  const claimFor = (applicationId: string) => async () => {
    if (!rounds.isRunning()) return undefined
    const [notice] = await store.claim(database, applicationId, lease, clock.offset())
    return notice
  }

  const onFailure = (reason: string) => log.warn({ reason }, 'logout notices wait for the database')

  const sendTo = (applicationId: string) => {
    if (queues.has(applicationId)) return
    const queue = deliverInLanes({ claim: claimFor(applicationId), deliver: (notice) => deliver(parts, notice) })
      .catch((error: unknown) => onFailure(reasonOf(error)))
      .finally(() => queues.delete(applicationId))
    queues.set(applicationId, queue)
  }

  /** Starts the queues and does not wait for them. */
  const run = async () => {
    for (const { id } of await store.selectDue(database, clock.offset())) sendTo(id)
  }

  const rounds = createRounds({ run, interval, onFailure })
  return { start: rounds.start, wake: rounds.wake, stop: () => rounds.stop([...queues.values()]) }
}
