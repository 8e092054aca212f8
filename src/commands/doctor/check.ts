import { seconds } from '../../lib/durations.js'
import { withTimeout } from '../../lib/timing.js'

type Level = 'ok' | 'warning' | 'error'
/** With `skippedBecause` nothing was checked. Checks that are skipped for the same reason share one line of the report. */
export type Finding = { level: Level; says: string; skippedBecause?: string }

/** A check makes one line of the report, unless it is skipped. It leaves no change behind. */
export type Check = { name: string; run(): Finding | Promise<Finding> }

/** Checks that share something, such as a connection, which is closed afterwards. */
export type CheckGroup = { checks: readonly Check[]; close?(): Promise<void> }

export const ok = (says: string): Finding => ({ level: 'ok', says })
export const warning = (says: string): Finding => ({ level: 'warning', says })
export const failure = (says: string): Finding => ({ level: 'error', says })
export const skipped = (because: string): Finding => ({ level: 'warning', says: because, skippedBecause: because })

/** The function that makes the finding: a warning in development, an error in production. */
export const errorInProduction = (production: boolean) => (production ? failure : warning)

/** Joins findings to one, with the worst level and the texts of all that are not ok. If all are ok, it has `okText`. */
export const worstOf = (okText: string, findings: readonly Finding[]): Finding => {
  const worstLevel = (['error', 'warning'] as const).find((level) => findings.some((each) => each.level === level))
  if (!worstLevel) return ok(okText)
  const texts = findings.filter(({ level }) => level !== 'ok').map(({ says }) => says)
  return { level: worstLevel, says: texts.join('; ') }
}

const messageOf = (error: unknown) => (error instanceof Error ? error.message : 'an unknown failure')

const defaultTimeout = 8 * seconds

/** A check that throws or hangs becomes a finding too, so that the other checks are still printed. */
export const runCheck = async ({ name, run }: Check, timeout = defaultTimeout) => {
  const outcome = Promise.resolve()
    .then(run)
    .catch((error: unknown) => failure(messageOf(error)))
  const finding = await withTimeout(outcome, timeout, () =>
    failure(`no answer within ${timeout / seconds} seconds (if this machine is busy, try again)`),
  )
  return { name, ...finding }
}

const skewToWarnOf = 2 * seconds
const skewThatBreaks = 60 * seconds

/** Compares a server's clock with ours. `askedAt` and `answeredAt` are by our clock; the server read its own in between. */
export const judgeClock = (server: string, askedAt: number, answeredAt: number, serverTime: number): Finding => {
  const skew = Math.round(serverTime - (askedAt + answeredAt) / 2)
  const skewText = `${(Math.abs(skew) / seconds).toFixed(1)} s ${skew > 0 ? 'ahead of' : 'behind'} this machine's`
  if (Math.abs(skew) > skewThatBreaks) return failure(`${server}'s clock is ${skewText}: run NTP on both`)
  if (Math.abs(skew) > skewToWarnOf) return warning(`${server}'s clock is ${skewText}: run NTP on both`)
  return ok(`${server}'s clock agrees with this machine's`)
}
