import { setTimeout as wait } from 'node:timers/promises'
import { afterEach, describe, expect, it } from 'vitest'
import { startPostgres } from '../../support/servers/postgres.js'
import { closeAll, openWithShortTimeouts as open } from '../../support/short-timeouts.js'

afterEach(closeAll)

// In every run, test/resilience/primary.test.ts has an old primary that finishes no commit.
describe('an old primary that goes on committing after a promotion', () => {
  it('is left at the next new connection, and its connections are not used again', async () => {
    const primary = await startPostgres({ ofMachine: true })
    const standby = await startPostgres({ standby: { of: primary, name: 'second' } })
    const hosts = `127.0.0.1:${primary.port},127.0.0.1:${standby.port}`
    const database = open(`postgres://postgres@${hosts}/postgres`, { primaryHoldsMs: 200 })
    const portsOfTwo = async () => {
      const text = 'select inet_server_port() as port, pg_sleep(0.1)::text as slept'
      const rows = await Promise.all([1, 2].map(() => database.query<{ port: number }>(text)))
      return rows.map(([row]) => row?.port)
    }
    try {
      await database.ping()
      await open(standby.url, { statementTimeoutMs: 20_000 }).query('select pg_promote()')
      await wait(250)
      await portsOfTwo()
      expect(await portsOfTwo()).toEqual([standby.port, standby.port])
    } finally {
      await standby.stop()
      await primary.stop()
    }
  })
})
