import { BaseSequencer, type TestSpecification } from 'vitest/node'

/** Folders whose files take long: they start first, so that none of them is left over when the others are done. */
const longest = [
  'test/deployment/long/release.test.ts',
  'test/browser/long/example-frameworks.test.ts',
  'test/deployment/caddy.test.ts',
  'test/browser/',
  'test/deployment/',
  'test/providers/',
  'test/http/fuzz.test.ts',
  'test/http/taken-back.test.ts',
  'test/operations/doctor.test.ts',
  'test/http/',
  'test/contracts/',
  'test/operations/',
  'test/repository/',
  'src/passwords/',
]

/** Folders whose files wait for faults, restarts and timeouts most of their time. */
const waiting = [
  'test/resilience/killed-changes.test.ts',
  'test/resilience/several-processes.test.ts',
  'test/resilience/start.test.ts',
  'test/resilience/stores.test.ts',
  'test/resilience/primary.test.ts',
  'test/resilience/own-postgres.test.ts',
  'test/resilience/',
  'test/http/slow-clients.test.ts',
]

/** How many other files start between two that wait: among themselves these would leave the cores idle. */
const between = 3

const rankIn = (places: readonly string[], { moduleId }: TestSpecification) => {
  const rank = places.findIndex((part) => moduleId.includes(part))
  return rank === -1 ? places.length : rank
}

const byRank = (places: readonly string[]) => (one: TestSpecification, other: TestSpecification) =>
  rankIn(places, one) - rankIn(places, other)

export class LongestFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]) {
    const sorted = await super.sort(files)
    const waits = (file: TestSpecification) => rankIn(waiting, file) < waiting.length
    const [first, ...rest] = sorted.filter(waits).toSorted(byRank(waiting))
    const others = sorted.filter((file) => !waits(file)).toSorted(byRank(longest))
    const mixed = others.flatMap((file, at) => [file, ...((at + 1) % between === 0 ? rest.splice(0, 1) : [])])
    return [...(first ? [first] : []), ...mixed, ...rest]
  }
}
