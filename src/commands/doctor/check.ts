import { seconds } from '../../lib/durations.js'
import { withTimeout } from '../../lib/with-timeout.js'

type Level = 'ok' | 'warning' | 'error'
/** `skippedBecause`: nothing was looked at. All that have one reason are one line of the report. */
export type Finding = { level: Level; says: string; skippedBecause?: string }

/** One line of the report. A check changes nothing that stays. */
export type Check = { name: string; run(): Finding | Promise<Finding> }

/** Checks that share something, such as a connection, which is closed afterwards. */
export type CheckGroup = { checks: readonly Check[]; close?(): Promise<void> }

export const ok = (says: string): Finding => ({ level: 'ok', says })
export const warning = (says: string): Finding => ({ level: 'warning', says })
export const failure = (says: string): Finding => ({ level: 'error', says })
export const skipped = (because: string): Finding => ({ level: 'warning', says: because, skippedBecause: because })

/** A warning in development, an error in production. */
export const errorInProduction = (production: boolean) => (production ? failure : warning)

/** Several findings as one: the worst level, and every text that is not ok. */
export const worstOf = (okText: string, findings: readonly Finding[]): Finding => {
  const worstLevel = (['error', 'warning'] as const).find((level) => findings.some((each) => each.level === level))
  if (!worstLevel) return ok(okText)
  const texts = findings.filter(({ level }) => level !== 'ok').map(({ says }) => says)
  return { level: worstLevel, says: texts.join('; ') }
}

const messageOf = (error: unknown) => (error instanceof Error ? error.message : 'an unknown failure')

const defaultTimeout = 8 * seconds

/** A check that throws or hangs becomes a finding too, so that the others are still printed. */
export const runCheck = async ({ name, run }: Check, timeout = defaultTimeout) => {
  const found = Promise.resolve()
    .then(run)
    .catch((error: unknown) => failure(messageOf(error)))
  const finding = await withTimeout(found, timeout, () =>
    failure(`no answer within ${timeout / seconds} seconds (if this machine is busy, try again)`),
  )
  return { name, ...finding }
}

const skewToWarnOf = 2 * seconds
const skewThatBreaks = 60 * seconds

/** Compares a server's clock with ours, given when we asked and when the answer came. */
export const judgeClock = (server: string, askedAt: number, answeredAt: number, serverTime: number): Finding => {
  const skew = Math.round(serverTime - (askedAt + answeredAt) / 2)
  const skewText = `${(Math.abs(skew) / seconds).toFixed(1)} s ${skew > 0 ? 'ahead of' : 'behind'} this machine's`
  if (Math.abs(skew) > skewThatBreaks) return failure(`${server}'s clock is ${skewText}: run NTP on both`)
  if (Math.abs(skew) > skewToWarnOf) return warning(`${server}'s clock is ${skewText}: run NTP on both`)
  return ok(`${server}'s clock agrees with this machine's`)
}
