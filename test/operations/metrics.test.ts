import { spawn } from 'node:child_process'
import { subscribe, unsubscribe } from 'node:diagnostics_channel'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { signInLabels } from '../../src/factors/ways-to-sign-in.js'
import { limiterNames } from '../../src/http/limiters.js'
import { createMetrics } from '../../src/platform/metrics/metrics.js'
import { startMetricsServer } from '../../src/platform/metrics/metrics-server.js'
import { addApplication } from '../support/applications.js'
import { goodPassword, type Latchkey, startLatchkey } from '../support/latchkey.js'
import { builtVersion } from '../support/project.js'
import { testProgram } from '../support/servers/programs.js'
import { freePort } from '../support/servers/server.js'
import { until } from '../support/until.js'

let service: Latchkey
let metricsUrl: string

const scrape = async () => (await fetch(metricsUrl)).text()

/** The value of the one series whose name and labels match, or undefined. */
const seriesValue = (text: string, name: string, labels: Record<string, string> = {}) => {
  const line = text.split('\n').find((each) => {
    const isNamed = each.startsWith(`${name}{`) || each.startsWith(`${name} `)
    return isNamed && Object.entries(labels).every(([label, value]) => each.includes(`${label}="${value}"`))
  })
  return line === undefined ? undefined : Number(line.split(' ').at(-1))
}

const lint = (text: string) =>
  new Promise<{ code: number | null; said: string }>((resolve, reject) => {
    const promtool = spawn(testProgram('promtool'), ['check', 'metrics'], { stdio: ['pipe', 'pipe', 'pipe'] })
    let said = ''
    for (const stream of [promtool.stdout, promtool.stderr]) stream.on('data', (chunk: Buffer) => (said += chunk))
    promtool.once('error', reject).once('close', (code) => resolve({ code, said }))
    promtool.stdin.end(text)
  })

beforeAll(async () => {
  const port = await freePort()
  metricsUrl = `http://127.0.0.1:${port}/metrics`
  const settings = { METRICS_PORT: String(port), SENSITIVE_LIMIT: '1/1h', LOG_LEVEL: 'info' }
  service = await startLatchkey({ settings })
  const ada = await service.registered('ada')
  const login = (password: string) => service.browser().post('/login', { username: 'ada', password })
  await login('not-Her-Password-1')
  await login(goodPassword)
  await service.browser().post('/login', { username: 'nobody', password: goodPassword })
  const old = ada.copy()
  await ada.post('/api/auth/refresh')
  await old.copy().post('/api/auth/refresh')
  await ada.post('/api/auth/refresh')
  await old.post('/api/auth/refresh')
  for (const _ of [1, 2]) await service.browser().post('/reset-password', { email: 'ada@example.com' })
  for (const path of ['/api/content/one', '/api/content/two', '/no/such/place', '/neither/is/this'])
    await service.browser().get(path)
})
afterAll(() => service.stop())

describe('the metrics', () => {
  it('count sign-ins by way and failures by reason', async () => {
    const text = await scrape()
    expect(seriesValue(text, 'latchkey_sign_ins_total', { way: 'password' })).toBe(1)
    expect(seriesValue(text, 'latchkey_sign_ins_total', { way: 'registration' })).toBe(1)
    const failures = 'latchkey_sign_in_failures_total'
    expect(seriesValue(text, failures, { way: 'password', reason: 'wrong_password' })).toBe(1)
    expect(seriesValue(text, failures, { way: 'password', reason: 'unknown_user' })).toBe(1)
  })

  it('tell rotations, races and thefts apart', async () => {
    const text = await scrape()
    const outcomes = ['rotated', 'raced', 'theft', 'ended'].map((outcome) =>
      seriesValue(text, 'latchkey_refreshes_total', { outcome }),
    )
    expect(outcomes).toEqual([2, 1, 1, 0])
  })

  it('count what a limiter refused', async () => {
    const text = await scrape()
    expect(seriesValue(text, 'latchkey_limiter_rejections_total', { limiter: 'sensitive' })).toBe(1)
    expect(seriesValue(text, 'latchkey_http_refusals_total', { status: '429' })).toBe(1)
  })

  it('count refusals by their code', async () => {
    const refused = { code: 'not_authenticated', route: '/api/content/:slug' }
    expect(seriesValue(await scrape(), 'latchkey_refusals_total', refused)).toBe(2)
  })

  it('time requests by route pattern, and never name what a client wrote', async () => {
    const text = await scrape()
    const count = 'latchkey_http_request_duration_seconds_count'
    expect(seriesValue(text, count, { route: '/login', method: 'POST', status: '2xx' })).toBe(1)
    expect(seriesValue(text, count, { route: '/login', method: 'POST', status: '4xx' })).toBe(2)
    expect(seriesValue(text, count, { route: '/api/content/:slug', method: 'GET', status: '4xx' })).toBe(2)
    expect(seriesValue(text, count, { route: 'unmatched', method: 'GET', status: '4xx' })).toBe(2)
    expect(text).not.toMatch(/\/api\/content\/(?:one|two)|\/no\/such|\/neither|ada|nobody|127\.0\.0\.1/)
  })

  it('count access checks, which never reach the framework', async () => {
    const ada = service.browser()
    await ada.post('/login', { username: 'ada', password: goodPassword })
    const handled: unknown[] = []
    const onHandled = (message: unknown) => handled.push(message)
    subscribe('tracing:fastify.request.handler:start', onHandled)
    for (const path of ['/api/auth/verify', '/api/auth/verify', '/api/auth/verify', '/api/auth/me']) await ada.get(path)
    unsubscribe('tracing:fastify.request.handler:start', onHandled)
    expect(handled).toEqual([])
    const counts = async () => {
      const text = await scrape()
      return ['/api/auth/verify', '/api/auth/me'].map((route) =>
        seriesValue(text, 'latchkey_http_request_duration_seconds_count', { route, method: 'GET', status: '2xx' }),
      )
    }
    await expect.poll(counts).toEqual([3, 1])
  })

  it('count refused access checks by reason, and visitors without a token not', async () => {
    const grace = service.browser()
    await grace.post('/login', { username: 'ada', password: goodPassword })
    const stranger = { headers: { cookie: 'access_token=x' } }
    for (const query of ['?group=admins', '?factors=2', '?group=admins,staff'])
      await grace.get(`/api/auth/verify${query}`)
    await service.browser().get('/api/auth/verify', stranger)
    await service.browser().get('/api/auth/verify')
    const text = await scrape()
    const reasons = ['group_required', 'step_up_required', 'invalid', 'expired', 'ended', 'doubled', 'not_renewed']
    const counts = reasons.map((reason) => seriesValue(text, 'latchkey_access_check_refusals_total', { reason }))
    expect(counts).toEqual([2, 1, 1, 0, 0, 0, 0])
  })

  it('show the queues, the shared counters and the process', async () => {
    const text = await scrape()
    expect(seriesValue(text, 'latchkey_worker_queue_length')).toBe(0)
    expect(seriesValue(text, 'latchkey_mails_waiting')).toBeGreaterThanOrEqual(0)
    expect(seriesValue(text, 'latchkey_cache_fallback')).toBe(0)
    expect(seriesValue(text, 'latchkey_counters_full')).toBe(0)
    expect(seriesValue(text, 'latchkey_ready')).toBe(1)
    for (const days of ['1', '7', '30'])
      expect(seriesValue(text, 'latchkey_active_users', { days })).toBeGreaterThanOrEqual(0)
    expect(seriesValue(text, 'process_resident_memory_bytes')).toBeGreaterThan(1_000_000)
    expect(seriesValue(text, 'nodejs_eventloop_lag_p99_seconds')).toBeGreaterThan(0)
  })

  it('tell the age of the keys of ID tokens by algorithm, when there is an application', async () => {
    const age = async () =>
      seriesValue(await scrape(), 'latchkey_id_token_key_age_seconds', { algorithm: 'ES256' }) ?? -1
    expect(await age()).toBe(-1)
    await addApplication(service, { algorithm: 'ES256' })
    await until('a key signs', async () => {
      await fetch(`${service.url}/api/auth/keys`)
      return (await age()) >= 0
    })
  })

  it('name the version and the commit, and pass the linter of Prometheus', async () => {
    const text = await scrape()
    const [version = '', commit = 'unknown'] = (await builtVersion()).split('+')
    expect(seriesValue(text, 'latchkey_build_info', { version, commit })).toBe(1)
    expect(await lint(text)).toEqual({ code: 0, said: '' })
    expect((await lint('latchkey_wrong_total{} 1\n')).code).not.toBe(0)
  })

  it('start closed lists at zero, so that the first of a kind is an increase', async () => {
    const fresh = await createMetrics({ ways: signInLabels(), limiters: limiterNames }).text()
    expect(seriesValue(fresh, 'latchkey_http_refusals_total', { status: '500' })).toBe(0)
    expect(seriesValue(fresh, 'latchkey_sign_ins_total', { way: 'provider_a' })).toBe(0)
    expect(seriesValue(fresh, 'latchkey_limiter_rejections_total', { limiter: 'login' })).toBe(0)
  })

  it('are at one address only, on their own port, and for reading only', async () => {
    const at = (path: string, method = 'GET') => fetch(new URL(path, metricsUrl), { method })
    expect((await at('/')).status).toBe(404)
    expect((await at('/metrics/more')).status).toBe(404)
    expect((await at('/metrics', 'POST')).status).toBe(405)
    expect((await at('/metrics')).headers.get('content-type')).toMatch(/^text\/plain; version=0\.0\.4/)
    expect((await service.browser().get('/metrics')).status).toBe(404)
  })
})

it('say which setting to change when their port is taken', async () => {
  const taken = {
    host: '127.0.0.1',
    port: Number(new URL(metricsUrl).port),
    metrics: createMetrics({ ways: signInLabels(), limiters: limiterNames }),
  }
  await expect(startMetricsServer(taken)).rejects.toThrow(
    `127.0.0.1:${taken.port} is in use: set METRICS_PORT to another port, or stop the program that has it.`,
  )
})

it('bound what may become a label, whatever is reported', async () => {
  const metrics = createMetrics({ ways: signInLabels(), limiters: limiterNames })
  for (let at = 0; at < 500; at += 1)
    metrics.countEvent({ kind: 'sign_in_failed', triedBy: 'provider_a', reason: `cause_${at}` })
  metrics.countEvent({ kind: 'sign_in_failed', triedBy: 'provider_a', reason: '"\n} 1' })
  metrics.countRequest({ route: undefined, method: 'PROPFIND', status: 405, milliseconds: 1 })
  const text = await metrics.text()
  expect(text.match(/^latchkey_sign_in_failures_total\{/gm)).toHaveLength(65)
  expect(seriesValue(text, 'latchkey_sign_in_failures_total', { reason: 'other' })).toBe(437)
  expect(text).toContain('method="OTHER"')
})
