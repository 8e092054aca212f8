import { readFile } from 'node:fs/promises'
import { createMetrics } from '../../src/platform/metrics/metrics.js'

/** A file of this project, by its path. */
export const read = (path: string) => readFile(new URL(`../../${path}`, import.meta.url), 'utf8')

/** The series that the service offers, with the suffixes of histograms. */
export const knownMetrics = () => {
  const metrics = createMetrics()
  metrics.watch({
    workers: { queueLength: () => 0 },
    cache: { ping: async () => {} },
    database: {},
    mails: { countWaiting: async () => 0 },
    webhooks: { countWaiting: async () => 0 },
    endedSessions: { age: () => 0, held: () => ({ entries: 0 }) },
    loadedKeys: { age: () => 0 },
  })
  return metrics
    .names()
    .flatMap(({ name, type }) => (type === 'histogram' ? [`${name}_bucket`, `${name}_count`, `${name}_sum`] : [name]))
}

export const metricsNamedIn = (text: string) => new Set(text.match(/\b(?:latchkey|process|nodejs)_[a-z0-9_]+\b/g) ?? [])
