import { rm } from 'node:fs/promises'
import { startChromium } from './servers/chromium.js'
import { startFirefox } from './servers/firefox.js'
import { preparePostgresTemplate, startPostgres } from './servers/postgres.js'
import { findTestProgram, type TestProgram } from './servers/programs.js'
import { startRedis } from './servers/redis.js'
import { ownFolder } from './servers/server.js'

/** The programs that the tests start themselves: faults need servers that may be frozen and killed. */
const needed: { program: TestProgram; name: string; debian: string; macos: string }[] = [
  { program: 'initdb', name: 'PostgreSQL (with standbys and pg_dump)', debian: 'postgresql', macos: 'postgresql@17' },
  { program: 'pgbouncer', name: 'PgBouncer', debian: 'pgbouncer', macos: 'pgbouncer' },
  { program: 'redis', name: 'Redis', debian: 'redis-server', macos: 'redis' },
  { program: 'nginx', name: 'nginx', debian: 'nginx', macos: 'nginx' },
  { program: 'openssl', name: 'OpenSSL', debian: 'openssl', macos: 'openssl' },
  { program: 'curl', name: 'curl', debian: 'curl', macos: 'curl' },
  { program: 'jq', name: 'jq', debian: 'jq', macos: 'jq' },
  { program: 'caddy', name: 'Caddy', debian: 'caddy', macos: 'caddy' },
  { program: 'chromium', name: 'Chromium', debian: 'chromium', macos: '--cask chromium' },
  { program: 'promtool', name: 'promtool', debian: 'prometheus', macos: 'prometheus' },
  { program: 'haproxy', name: 'HAProxy', debian: 'haproxy', macos: 'haproxy' },
  { program: 'oathtool', name: 'oathtool', debian: 'oathtool', macos: 'oath-toolkit' },
]

/** Vitest calls this once before the first test, and what it returns after the last. */
export const setup = async () => {
  const missing = needed.filter(({ program }) => !findTestProgram(program))
  if (missing.length > 0) giveUp(missing)
  const [postgres, templates] = await Promise.all([preparePostgresTemplate(), ownFolder('templates')])
  process.env.TEST_POSTGRES_TEMPLATE = postgres.data
  process.env.TEST_TEMPLATES = templates
  const started = await Promise.all([
    startUnlessGiven('TEST_DATABASE_URL', startPostgres),
    startUnlessGiven('TEST_REDIS_URL', startRedis),
    startUnlessGiven('TEST_CHROMIUM_URL', startChromium),
    startUnlessGiven('TEST_FIREFOX_URL', startFirefox),
  ])
  return async () => {
    await Promise.all(started.map(async (server) => server?.stop()))
    await Promise.all([postgres.remove(), rm(templates, { recursive: true, force: true })])
  }
}

/** The environment may name a server for the ordinary tests. */
const startUnlessGiven = async (variable: string, start: () => Promise<{ url: string; stop(): Promise<void> }>) => {
  if (process.env[variable]) return undefined
  const server = await start()
  process.env[variable] = server.url
  return server
}

const giveUp = (missing: typeof needed): never => {
  const names = missing.map(({ name }) => name).join(', ')
  const debian = missing.map((each) => each.debian).join(' ')
  const macos = missing.map((each) => each.macos).join(' ')
  console.error(`The tests need ${names}: apt-get install ${debian} (Debian) or brew install ${macos} (macOS).`)
  process.exit(1)
}
