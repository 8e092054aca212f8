import { BaseSequencer, type TestSpecification } from 'vitest/node'

/** Where files take long: they start first, so that none of them is left over when the others are done. */
const longest = [
  'test/resilience/instances.test.ts',
  'test/resilience/start.test.ts',
  'test/resilience/killed-changes.test.ts',
  'test/resilience/several-processes.test.ts',
  'test/resilience/embedded-faults.test.ts',
  'test/deployment/forward-auth.test.ts',
  'test/http/slow-clients.test.ts',
  'test/browser/',
  'test/deployment/',
  'test/resilience/',
  'test/providers/',
]

const rankOf = ({ moduleId }: TestSpecification) => {
  const rank = longest.findIndex((part) => moduleId.includes(part))
  return rank === -1 ? longest.length : rank
}

export class LongestFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]) {
    const sorted = await super.sort(files)
    return sorted.toSorted((one, other) => rankOf(one) - rankOf(other))
  }
}
