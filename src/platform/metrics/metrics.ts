import { Counter, collectDefaultMetrics, Gauge, Histogram, Registry } from 'prom-client'
import { type CodeMethod, codeMethods } from '../../contract/factors.js'
import type { RefusalCode } from '../../contract/refusals.js'
import { programBuild } from '../version.js'
import { shareMetrics } from './summed-metrics.js'
import { type Watched, watchGauges } from './watched-gauges.js'

type Attempts<Outcome extends string> = { name: string; help: string; outcomes: readonly Outcome[] }

const webhooks = {
  name: 'latchkey_webhooks_total',
  help: 'Attempts to deliver a webhook, by outcome: delivered, failed, given_up.',
  outcomes: ['delivered', 'failed', 'given_up'],
} as const

const logoutNotices = {
  name: 'latchkey_logout_notices_total',
  help: 'Attempts to tell an application that a session has ended, by outcome: delivered, refused (with 400, for good), failed (tried again later), given_up.',
  outcomes: ['delivered', 'refused', 'failed', 'given_up'],
} as const

const mails = {
  name: 'latchkey_mails_total',
  help: 'Attempts to send a mail, by outcome: accepted, failed (tried again later), refused (for good), given_up.',
  outcomes: ['accepted', 'failed', 'refused', 'given_up'],
} as const

const configurationFile = {
  name: 'latchkey_configuration_files_total',
  help: 'How often CONFIGURATION_FILE was read, by outcome: applied (something has changed), unchanged, refused (nothing has changed).',
  outcomes: ['applied', 'unchanged', 'refused'],
} as const

/** Creates the counters of attempts outside of requests. */
const createAttemptCounters = (registers: Registry[]) => {
  const counterOf = <Outcome extends string>({ name, help, outcomes }: Attempts<Outcome>) => {
    const counter = new Counter({ name, help, labelNames: ['outcome'] as const, registers })
    for (const outcome of outcomes) counter.inc({ outcome }, 0)
    return (outcome: Outcome) => counter.inc({ outcome })
  }
  return {
    webhook: counterOf(webhooks),
    logoutNotice: counterOf(logoutNotices),
    mail: counterOf(mails),
    configurationFile: counterOf(configurationFile),
  }
}

const word = /^[a-z][a-z0-9_]{0,47}$/

/** Allows a limited number of different values for a label. Every further value becomes `other`. */
const createBoundedLabel = (limit: number) => {
  const known = new Set<string>()
  return (value: string) => {
    if (known.has(value)) return value
    if (known.size >= limit || !word.test(value)) return 'other'
    known.add(value)
    return value
  }
}

export type RefreshOutcome = 'rotated' | 'raced' | 'replaced' | 'unproven' | 'ended' | 'theft'

/**
 * What happens to sessions that are bound to a device. `refused_…`: why a browser was not bound or got no tokens. `skipped_…`: why a browser
 * has sent a request without asking for tokens first, in its own words.
 */
const boundSessionOutcomes = [
  'registered',
  'registration_refused_script',
  'registration_refused_token',
  'registration_refused_bound',
  'registration_refused_proof',
  'refreshed',
  'challenged',
  'refused_other_session',
  'refused_doubled',
  'refused_limited',
  'refused_ended',
  'refused_proof',
  'refused_replaced',
  'refused_theft',
  'skipped_unreachable',
  'skipped_server_error',
  'skipped_quota_exceeded',
] as const
export type BoundSessionOutcome = (typeof boundSessionOutcomes)[number]

/**
 * Why an access check was refused that brought a token: for its groups or proofs, because the token has expired or its session has ended,
 * because it is none of ours (any more) or was there twice, or because the refresh token could not be exchanged (`renew=1`).
 */
const refusedChecks = [
  'group_required',
  'step_up_required',
  'expired',
  'ended',
  'invalid',
  'doubled',
  'not_renewed',
] as const
export type RefusedCheck = (typeof refusedChecks)[number]

/** The parts of an event that are counted. The user is never among them. */
type CountedEvent = { kind: string; reason?: string; triedBy?: string; sessionBeganBy?: string }

export type CountedRequest = {
  route: string | undefined
  method: string
  status: number
  milliseconds: number
  /** The code of the refusal, if the request was refused. */
  refused?: RefusalCode | undefined
}

/** The bounds in seconds, from the access check (below a millisecond) to the longest time that a client may take. */
const latencyBuckets = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10]

const usualMethods = new Set(['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS'])

const secondFactorOutcomes = ['accepted', 'wrong', 'limited'] as const

/** Gauges that never change while the process runs. */
const addConstantGauges = (registers: Registry[]) => {
  const processes = new Gauge({
    name: 'latchkey_processes',
    help: 'Processes of this instance that serve requests.',
    registers,
  })
  const build = new Gauge({
    name: 'latchkey_build_info',
    help: 'Always 1; the version of this instance and the commit that it was built from are labels.',
    aggregator: 'first',
    labelNames: ['version', 'commit'] as const,
    registers,
  })
  const { version, commit = 'unknown' } = programBuild()
  processes.set(1)
  build.set({ version, commit }, 1)
}

const createRequestInstruments = (registers: Registry[]) => ({
  requests: new Histogram({
    name: 'latchkey_http_request_duration_seconds',
    help: 'Time from the first byte of a request to the last of its answer, by route pattern.',
    labelNames: ['route', 'method', 'status'] as const,
    buckets: latencyBuckets,
    registers,
  }),
  refusals: new Counter({
    name: 'latchkey_http_refusals_total',
    help: 'Answers of 400 and above, by exact status.',
    labelNames: ['status'] as const,
    registers,
  }),
  refusalCodes: new Counter({
    name: 'latchkey_refusals_total',
    help: 'Refusals, by their code and the pattern of the route: wrong CSRF tokens, requests of other sites, refused access checks, wrong service keys and so on.',
    labelNames: ['code', 'route'] as const,
    registers,
  }),
})

const createInstruments = (registers: Registry[], ways: readonly string[]) => ({
  ...createRequestInstruments(registers),
  tokens: new Counter({
    name: 'latchkey_application_tokens_total',
    help: 'Requests of applications for tokens, by grant (authorization_code, refresh_token, other) and outcome: issued, or why not.',
    labelNames: ['grant', 'outcome'] as const,
    registers,
  }),
  signIns: new Counter({
    name: 'latchkey_sign_ins_total',
    help: `Sign-ins, by way: ${ways.join(', ')}.`,
    labelNames: ['way'] as const,
    registers,
  }),
  failures: new Counter({
    name: 'latchkey_sign_in_failures_total',
    help: 'Sign-ins that were refused, by way and reason.',
    labelNames: ['way', 'reason'] as const,
    registers,
  }),
  refreshes: new Counter({
    name: 'latchkey_refreshes_total',
    help: 'Refreshes, by outcome: rotated, raced (the same successor again), replaced (by a change of the password a moment ago), unproven (bound to a device, and without a proof by its key), ended (no such session any more), theft.',
    labelNames: ['outcome'] as const,
    registers,
  }),
  boundSessions: new Counter({
    name: 'latchkey_bound_sessions_total',
    help: `Requests about sessions that are bound to a device (BOUND_SESSIONS), by outcome: ${boundSessionOutcomes.join(', ')}.`,
    labelNames: ['outcome'] as const,
    registers,
  }),
  refusedChecks: new Counter({
    name: 'latchkey_access_check_refusals_total',
    help: `Access checks (GET /api/auth/verify) that were refused although they brought a token, by reason: ${refusedChecks.join(', ')}.`,
    labelNames: ['reason'] as const,
    registers,
  }),
  rejections: new Counter({
    name: 'latchkey_limiter_rejections_total',
    help: 'Requests that a limiter refused with 429, by limiter.',
    labelNames: ['limiter'] as const,
    registers,
  }),
  events: new Counter({
    name: 'latchkey_events_total',
    help: 'Authentication events, by kind.',
    labelNames: ['kind'] as const,
    registers,
  }),
  secondFactors: new Counter({
    name: 'latchkey_second_factors_total',
    help: 'Codes of a second factor, by method (otp, rec for a recovery code) and outcome: accepted, wrong, limited.',
    labelNames: ['method', 'outcome'] as const,
    registers,
  }),
})

type Instruments = ReturnType<typeof createInstruments>

const refreshOutcomes: readonly RefreshOutcome[] = ['rotated', 'raced', 'replaced', 'unproven', 'ended', 'theft']
const refusalStatuses = [400, 401, 403, 404, 405, 409, 413, 415, 422, 429, 431, 500, 503]

/**
 * Every series of a closed list starts at zero. Prometheus sees no increase in a series that first appears with 1, so an
 * alert would miss the first event.
 */
const startAtZero = (
  {
    secondFactors: factors,
    refreshes,
    boundSessions,
    refusals,
    refusedChecks: checks,
    signIns,
    rejections,
  }: Instruments,
  { ways, limiters }: { ways: readonly string[]; limiters: readonly string[] },
) => {
  for (const outcome of refreshOutcomes) refreshes.inc({ outcome }, 0)
  for (const outcome of boundSessionOutcomes) boundSessions.inc({ outcome }, 0)
  for (const reason of refusedChecks) checks.inc({ reason }, 0)
  for (const status of refusalStatuses) refusals.inc({ status: String(status) }, 0)
  for (const way of ways) signIns.inc({ way }, 0)
  for (const limiter of limiters) rejections.inc({ limiter }, 0)
  for (const method of codeMethods) for (const outcome of secondFactorOutcomes) factors.inc({ method, outcome }, 0)
}

/** Gauges that have the name of a counter. Prometheus warns of them, and other gauges have the same numbers by type. */
const misnamedGauges = ['nodejs_active_handles_total', 'nodejs_active_requests_total', 'nodejs_active_resources_total']

export type Metrics = ReturnType<typeof createMetrics>

/**
 * Creates everything that is counted, with a registry of its own. Labels are bounded: route patterns, closed lists and
 * fixed words, never a path, an address or a user, so that no client can make the number of series grow.
 */
export const createMetrics = ({ ways, limiters }: { ways: readonly string[]; limiters: readonly string[] }) => {
  const registry = new Registry()
  const instruments = createInstruments([registry], ways)
  const wayLabel = createBoundedLabel(2 * ways.length)
  const reasonLabel = createBoundedLabel(64)
  const kindLabel = createBoundedLabel(128)

  addConstantGauges([registry])
  startAtZero(instruments, { ways, limiters })

  return {
    /** Counts an event. It is a listener of the events. */
    countEvent: (event: CountedEvent) => {
      const { kind, reason = 'unknown', triedBy, sessionBeganBy } = event
      instruments.events.inc({ kind: kindLabel(kind) })
      if (sessionBeganBy !== undefined) instruments.signIns.inc({ way: wayLabel(sessionBeganBy) })
      if (triedBy !== undefined) instruments.failures.inc({ way: wayLabel(triedBy), reason: reasonLabel(reason) })
    },
    countRefresh: (outcome: RefreshOutcome) => instruments.refreshes.inc({ outcome }),
    countBoundSession: (outcome: BoundSessionOutcome) => instruments.boundSessions.inc({ outcome }),
    countRefusedCheck: (reason: RefusedCheck) => instruments.refusedChecks.inc({ reason }),
    countSecondFactor: (method: CodeMethod, outcome: (typeof secondFactorOutcomes)[number]) =>
      instruments.secondFactors.inc({ method, outcome }),
    countTokens: (grant: string, outcome: string) => instruments.tokens.inc({ grant, outcome }),
    countRejection: (limiter: string) => instruments.rejections.inc({ limiter }),
    countAttempt: createAttemptCounters([registry]),
    countRequest: ({ route = 'unmatched', method, status, milliseconds, refused }: CountedRequest) => {
      const labels = {
        route,
        method: usualMethods.has(method) ? method : 'OTHER',
        status: `${Math.floor(status / 100)}xx`,
      }
      instruments.requests.observe(labels, milliseconds / 1000)
      if (status >= 400) instruments.refusals.inc({ status: String(status) })
      if (refused) instruments.refusalCodes.inc({ code: refused, route })
    },
    /** Adds gauges that are read at each scrape: the process, queues, the pool, whether the shared counters can be reached. */
    watch: (watched: Watched) => {
      collectDefaultMetrics({ register: registry })
      for (const name of misnamedGauges) registry.removeSingleMetric(name)
      watchGauges(watched, ({ collect, ...gauge }) => {
        new Gauge({
          ...gauge,
          registers: [registry],
          collect() {
            return collect(this)
          },
        })
      })
    },
    /** Answers the supervisor, which asks each process for its metrics and adds them up. Then this process needs no port for them. */
    share: () => shareMetrics(registry),
    contentType: registry.contentType,
    /** The text that Prometheus reads. */
    text: () => registry.metrics(),
    names: () => registry.getMetricsAsArray().map(({ name, type }) => ({ name, type: String(type) })),
  }
}
