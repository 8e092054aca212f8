import { hasPostgres, startPostgres } from './postgres.js'
import { findChromium, findFirefox, findNginx } from './programs.js'
import { hasRedis, startRedis } from './redis.js'

type Service = { variable: string; name: string; packages: string; has: () => boolean; start: () => Promise<Started> }
type Started = { url: string; stop: () => Promise<void> }

const services: Service[] = [
  {
    variable: 'TEST_DATABASE_URL',
    name: 'PostgreSQL',
    packages: 'Debian: apt-get install postgresql, macOS: brew install postgresql@17',
    has: hasPostgres,
    start: startPostgres,
  },
  {
    variable: 'TEST_REDIS_URL',
    name: 'Redis',
    packages: 'Debian: apt-get install redis-server, macOS: brew install redis',
    has: hasRedis,
    start: startRedis,
  },
]

/** Vitest calls this once before the first test, and what it returns after the last. */
export const setup = async () => {
  const wanted = services.filter(({ variable }) => !process.env[variable])
  const missing = wanted.filter(({ has }) => !has())
  if (missing.length > 0) giveUp(missing)

  const started = await Promise.all(
    wanted.map(async ({ variable, start }) => {
      const server = await start()
      process.env[variable] = server.url
      return server
    }),
  )
  namePrograms()
  return async () => {
    await Promise.all(started.map((server) => server.stop()))
  }
}

const giveUp = (missing: Service[]): never => {
  for (const { name, packages, variable } of missing) {
    console.error(`The tests need ${name}: install it (${packages}) or set ${variable} to a server they may use.`)
  }
  process.exit(1)
}

// Tests that need one of these skip themselves without it, and say so by its variable.
const namePrograms = () => {
  const programs = { TEST_NGINX: findNginx(), TEST_CHROMIUM: findChromium(), TEST_FIREFOX: findFirefox() }
  for (const [variable, program] of Object.entries(programs)) {
    if (program) process.env[variable] = program
  }
}
