import { execFile } from 'node:child_process'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { parse } from 'yaml'
import { openRoomsForCommand } from '../../src/commands/open-for-commands.js'
import { signInLabels } from '../../src/factors/ways-to-sign-in.js'
import { limiterNames } from '../../src/http/limiters.js'
import { seconds } from '../../src/lib/durations.js'
import { createMetrics } from '../../src/platform/metrics/metrics.js'
import { createWrongClock } from '../support/clock.js'
import { type Latchkey, startLatchkey } from '../support/latchkey.js'
import { anchorsIn, read } from '../support/project.js'
import { testProgram } from '../support/servers/programs.js'
import { freePort } from '../support/servers/server.js'
import { latchkey } from '../support/terminal.js'
import { until } from '../support/until.js'

const run = promisify(execFile)
const folder = fileURLToPath(new URL('../../deploy/prometheus', import.meta.url))
const promtool = (...args: string[]) => run(testProgram('promtool'), args, { cwd: folder })

type Rule = { alert: string; expr: string; annotations: { runbook_url: string } }
const rules = parse(await read('deploy/prometheus/latchkey.rules.yml')).groups.flatMap(
  (group: { rules: Rule[] }) => group.rules,
) as Rule[]

const testFiles = ['latchkey.rules.test.yml', 'latchkey.rules.day.test.yml']
const readTests = async () => (await Promise.all(testFiles.map((name) => read(`deploy/prometheus/${name}`)))).join('\n')

let service: Latchkey
let scrape: () => Promise<string>
beforeAll(async () => {
  const port = await freePort()
  const settings = {
    METRICS_PORT: String(port),
    PROVIDERS: 'okta',
    PROVIDER_OKTA_ISSUER: 'http://127.0.0.1:9',
    PROVIDER_OKTA_NAME: 'Okta',
    PROVIDER_OKTA_CLIENT_ID: 'latchkey',
    PROVIDER_OKTA_CLIENT_SECRET: 'a secret of the provider',
  }
  service = await startLatchkey({ settings, clock: createWrongClock(-240_000), housekeepingInterval: 10 * seconds })
  await latchkey({ openRooms: (role) => openRoomsForCommand(service.config, role) }, [
    'sessions',
    'end',
    '--all',
    '--yes',
  ])
  scrape = async () => (await fetch(`http://127.0.0.1:${port}/metrics`)).text()
})
afterAll(() => service.stop())

type Matcher = { label: string; operator: string; value: string }
type Selector = { name: string; matchers: Matcher[] }

/** Every `name{label="value"}` in a text, of our own metrics. */
const selectorsIn = (text: string): Selector[] =>
  [...text.matchAll(/\b(latchkey_\w+)(?:\{([^}]*)\})?/g)].map(([, name = '', labels = '']) => ({
    name,
    matchers: [...labels.matchAll(/(\w+)\s*(=~|!~|!=|=)\s*"([^"]*)"/g)]
      .map(([, label = '', operator = '', value = '']) => ({ label, operator, value }))
      .filter(({ label }) => label !== 'instance'),
  }))

const fits = ({ operator, value }: Matcher, real = '') =>
  operator.includes('~')
    ? new RegExp(`^(?:${value})$`).test(real) !== operator.startsWith('!')
    : (real === value) !== operator.startsWith('!')

const isEmitted = (series: Selector[], { name, matchers }: Selector) =>
  series.some(
    (each) =>
      each.name === name &&
      matchers.every((matcher) => fits(matcher, each.matchers.find(({ label }) => label === matcher.label)?.value)),
  )

describe('the alerts', () => {
  it('fire when they should, by their own tests', async () => {
    const { stdout } = await promtool('test', 'rules', ...testFiles)
    expect(stdout.match(/SUCCESS/g)).toHaveLength(testFiles.length)
    const tried = await readTests()
    const guide = await read('docs/operating.md')
    for (const { alert } of rules) {
      expect(tried).toMatch(new RegExp(`alertname: ${alert}\\n +exp_alerts:\\n`))
      expect(guide).toContain(`\`${alert}\``)
    }
  })

  it('lead to a place in the guide that is there', async () => {
    const anchors = await anchorsIn('docs/operating.md')
    for (const { alert, annotations } of rules) {
      const [file, anchor] = annotations.runbook_url.split('#')
      expect(file).toBe('docs/operating.md')
      expect(
        anchors.filter((each) => each === anchor),
        alert,
      ).toHaveLength(1)
    }
  })

  it('look at series and labels that the service really has, and so do their tests', async () => {
    // A provider of PROVIDERS that cannot be reached, and a failed request, which no running service should have.
    await service.browser().get('/api/auth/provider-okta')
    const failing = createMetrics({ ways: signInLabels(), limiters: limiterNames })
    for (const route of ['/login', '/health', '/api/auth/verify', '/api/auth/me'])
      for (const status of [200, 500])
        failing.countRequest({ route, method: route === '/login' ? 'POST' : 'GET', status, milliseconds: 1 })
    for (const reason of ['timeout', 'access_denied', 'unreachable'])
      for (const triedBy of ['provider_a', 'provider_b', 'provider_okta'])
        failing.countEvent({ kind: 'sign_in_failed', triedBy, reason })
    failing.countEvent({ kind: 'sign_in_failed', triedBy: 'password', reason: 'wrong_password' })
    const own = selectorsIn(await scrape())
    const series = [...own, ...selectorsIn(await failing.text())]
    const used = [...rules.flatMap(({ expr }) => selectorsIn(expr)), ...selectorsIn(await readTests())]
    expect(used.length).toBeGreaterThan(30)
    // Only with ACCESS_TOKEN_ALGORITHM=ES256, and with an application.
    const notHere = ['latchkey_signing_key_age_seconds', 'latchkey_id_token_key_age_seconds']
    const missing = used.filter((each) => !notHere.includes(each.name) && !isEmitted(series, each))
    expect(missing).toEqual([])
    const matchers = [{ label: 'way', operator: '=~', value: 'provider_.+' }]
    expect(
      own.filter((each) => isEmitted([each], { name: 'latchkey_sign_in_failures_total', matchers })),
    ).toMatchObject([{ matchers: expect.arrayContaining([{ label: 'way', operator: '=', value: 'provider_okta' }]) }])
  })

  it('come with an example for Prometheus, and one for Kubernetes', async () => {
    expect((await promtool('check', 'config', 'prometheus.yml')).stdout).toContain('SUCCESS')
    const example = await read('deploy/prometheus/prometheus.yml')
    const own = /^ {2}- job_name: latchkey\n.*?\n\n/ms.exec(example)?.[0] ?? ''
    // promtool may be built without Kubernetes: then it does not know how to find the pods.
    const elsewhere = example
      .replace(own, '')
      .replaceAll(/^ {2}# ( *)(?=- |kubernetes|relabel)/gm, '  $1')
      .replace('kubernetes_sd_configs: [{ role: pod }]', "static_configs: [{ targets: ['10.42.0.7:3000'] }]")
    const temporary = await mkdtemp(join(tmpdir(), 'latchkey-prometheus-'))
    try {
      await writeFile(
        join(temporary, 'prometheus.yml'),
        elsewhere.replace('latchkey.rules.yml', join(folder, 'latchkey.rules.yml')),
      )
      expect((await promtool('check', 'config', join(temporary, 'prometheus.yml'))).stdout).toContain('SUCCESS')
      const { scrape_configs: jobs } = parse(elsewhere)
      expect(jobs.map((job: { job_name: string }) => job.job_name)).toEqual(['latchkey'])
    } finally {
      await rm(temporary, { recursive: true })
    }
  })
})

it('a clock that is four minutes behind the database is a metric and a warning, once', async () => {
  const offset = async () => Number(/^latchkey_clock_offset_seconds (\S+)$/m.exec(await scrape())?.[1])
  await until('the clocks are compared', async () => Math.abs((await offset()) + 240) < 30)
  await service.app.rooms.clockWatch.measureOffset()
  const warnings = service.logLines.map((line) => JSON.parse(line)).filter(({ msg }) => /clock is off/.test(msg))
  expect(warnings).toMatchObject([{ level: 'warn', offsetSeconds: expect.closeTo(-240, -2) }])
})

it('the oldest mail that waits is a metric', async () => {
  await service.app.rooms.mails.stop()
  await service
    .browser()
    .post('/api/auth/register', { username: 'ada', email: 'ada@example.com', password: 'violet-Harbor-91-lantern' })
  service.clock.advance(20 * 60_000)
  expect(Number(/^latchkey_mails_oldest_seconds (\S+)$/m.exec(await scrape())?.[1])).toBeCloseTo(1200, -2)
})

it('what an operator did with a command is in the log of the service and counted, once', async () => {
  const lines = () =>
    service.logLines.map((line) => JSON.parse(line)).filter(({ msg, ip }) => msg === 'event' && ip === 'command line')
  await until('the clean-up has run', () => lines().length > 0)
  expect(lines()).toMatchObject([{ kind: 'sessions_ended', userAgent: expect.any(String), at: expect.any(String) }])
  expect(await scrape()).toContain('latchkey_events_total{kind="sessions_ended"} 1')
  expect(await service.sql.transaction((sql) => service.app.rooms.events.tellOfCommands(sql, 100))).toBe(0)
})
