import { findTestProgram, type TestProgram } from '../../support/servers/programs.js'
import { startRedis } from '../../support/servers/redis.js'

const needed: { program: TestProgram; name: string; debian: string }[] = [
  { program: 'initdb', name: 'PostgreSQL', debian: 'postgresql' },
  { program: 'redis', name: 'Redis', debian: 'redis-server' },
  { program: 'nginx', name: 'nginx', debian: 'nginx' },
  { program: 'openssl', name: 'OpenSSL', debian: 'openssl' },
  { program: 'patroni', name: 'Patroni', debian: 'patroni' },
  { program: 'patronictl', name: 'patronictl', debian: 'patroni' },
  { program: 'etcd', name: 'etcd', debian: 'etcd-server' },
  { program: 'buildah', name: 'buildah', debian: 'buildah' },
  { program: 'debootstrap', name: 'debootstrap', debian: 'debootstrap' },
]

/** Vitest calls this once before the first test, and what it returns after the last. */
export const setup = async () => {
  const missing = needed.filter(({ program }) => !findTestProgram(program))
  if (missing.length > 0) {
    const packages = [...new Set(missing.map(({ debian }) => debian))].join(' ')
    const names = missing.map(({ name }) => name).join(', ')
    console.error(`The long tests need ${names}: apt-get install ${packages} (Debian).`)
    process.exit(1)
  }
  const redis = await startRedis()
  process.env.TEST_REDIS_URL = redis.url
  return () => redis.stop()
}
