import { configDefaults, defineConfig } from 'vitest/config'
import { compiledFiles, compiledSources } from './test/support/compiled-sources.js'
import { LongestFirst } from './test/support/sequencer.js'

/**
 * Most code runs a few times only in a test, so compiling it well does not pay: Node 20 waits longer before it optimises a function.
 * Newer versions of Node have a cheap compiler in between, and not this option. More room for new objects means fewer collections of garbage.
 */
const forBriefWork = [
  '--max-semi-space-size=32',
  ...(process.version.startsWith('v20.') ? ['--interrupt-budget=1000000'] : []),
]

export default defineConfig({
  plugins: process.env.TEST_COMPILED_SOURCES ? [compiledSources()] : [],
  // React itself is in the example for Next.js only, which the long run builds.
  resolve: { tsconfigPaths: true, alias: { react: 'preact/compat' } },
  test: {
    include: [
      'src/**/*.test.ts',
      'web/**/*.test.{ts,tsx}',
      'test/**/*.test.ts',
      'scripts/**/*.test.ts',
      'bench/**/*.test.ts',
      'packages/*/**/*.test.ts',
    ],
    // The benchmark's peers bring their own tests in their node_modules.
    exclude: [...configDefaults.exclude, 'test/**/long/**'],
    globalSetup: ['test/support/temporary-folder.ts', 'test/support/global-setup.ts'],
    server: { deps: { external: [compiledFiles] } },
    pool: 'forks',
    // Loading the service's modules takes longer than most tests, so the files of a process share them. A file that
    // replaces modules (`vi.mock`) would need a project of its own.
    isolate: false,
    execArgv: forBriefWork,
    // Many tests wait for other programs: more processes than cores keep the cores at work. Each loads the modules, which
    // takes two core seconds.
    maxWorkers: 5,
    sequence: { sequencer: LongestFirst },
    // Generous, because the machine may be busy with other programs. A test that waits for something waits no longer
    // than it takes.
    testTimeout: 240_000,
    hookTimeout: 240_000,
    teardownTimeout: 10_000,
    expect: { poll: { timeout: 60_000, interval: 50 } },
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
