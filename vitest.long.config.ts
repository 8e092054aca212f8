import { defineConfig } from 'vitest/config'
import ordinary from './vitest.config.js'

/**
 * For `npm run test:long`: what takes too long for every run of `npm test`. That is whole files in folders called `long`,
 * and files that try more there (`test/support/long-run.ts`).
 */
const include = [
  'test/**/long/*.test.ts',
  'test/browser/{admin,dashboard,email-change,invitations,journey,login,look,openid,openid-ways-back}.test.ts',
  'test/browser/{passkeys,planted-cookies,profile-fields,providers}.test.ts',
  'test/deployment/{caddy,forward-auth,haproxy,local,pgbouncer}.test.ts',
  'test/http/{fast-lane,fuzz,guessing,slow-clients,taken-back}.test.ts',
  'test/operations/large-import.test.ts',
  'test/resilience/{ended-sessions,groups,instances,killed-changes,own-postgres,several-processes,start}.test.ts',
]

export default defineConfig({
  ...ordinary,
  test: {
    ...ordinary.test,
    include,
    exclude: [],
    globalSetup: ['test/support/global-setup.ts', 'test/resilience/long/global-setup.ts'],
    // With two, a core has nothing to do for a quarter of the time. With more, tests that measure time would disturb one another.
    maxWorkers: 3,
    // Hundreds of cases are one test in some of these files.
    testTimeout: 900_000,
    env: { TZ: 'UTC', LONG_RUN: '1' },
  },
})
