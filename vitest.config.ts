import { defineConfig } from 'vitest/config'

export default defineConfig({
  test: {
    include: [
      'src/**/*.test.ts',
      'web/**/*.test.{ts,tsx}',
      'test/**/*.test.ts',
      'scripts/**/*.test.ts',
      'bench/**/*.test.ts',
    ],
    exclude: ['test/resilience/long/**'],
    globalSetup: ['test/support/global-setup.ts'],
    // Loading the service's modules takes longer than most tests, so the files of a process share them. Tests that use
    // the cores and tests that wait run side by side: more processes than cores keep the cores at work.
    pool: 'forks',
    isolate: false,
    maxWorkers: 4,
    // Generous, because the machine may be busy with other programs. A test that waits for something waits no longer
    // than it takes.
    testTimeout: 60_000,
    hookTimeout: 120_000,
    expect: { poll: { timeout: 20_000, interval: 25 } },
    teardownTimeout: 10_000,
    env: { TZ: 'UTC' },
    coverage: {
      provider: 'v8',
      include: ['src/**/*.ts'],
      exclude: ['src/**/*.test.ts'],
      reporter: ['text-summary'],
      reportOnFailure: true,
      reportsDirectory: 'coverage',
    },
  },
})
