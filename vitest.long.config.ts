import { defineConfig } from 'vitest/config'

/** For `npm run test:long`: what takes too long for every run of `npm test`. One file after the other. */
export default defineConfig({
  resolve: { tsconfigPaths: true },
  test: {
    include: ['test/resilience/long/*.test.ts'],
    globalSetup: ['test/resilience/long/global-setup.ts'],
    pool: 'forks',
    maxWorkers: 1,
    env: { TZ: 'UTC' },
  },
})
