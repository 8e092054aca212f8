import { readFile } from 'node:fs/promises'
import { signInLabels } from '../../src/factors/ways-to-sign-in.js'
import { limiterNames } from '../../src/http/limiters.js'
import { createMetrics } from '../../src/platform/metrics/metrics.js'

/** A file of this project, by its path. */
export const read = (path: string) => readFile(new URL(`../../${path}`, import.meta.url), 'utf8')

/** The version of the program, from what the build has written. */
export const builtVersion = async () => {
  const { version } = JSON.parse(await read('package.json')) as { version: string }
  const { commit } = JSON.parse(await read('dist/build.json')) as { commit?: string }
  return commit === undefined ? version : `${version}+${commit}`
}

/** The anchor that GitHub makes of a heading. */
const anchorOf = (heading: string) =>
  heading
    .toLowerCase()
    .replaceAll(/[^\p{L}\p{N} -]/gu, '')
    .replaceAll(' ', '-')

/** The places in a guide that a link can name. */
export const anchorsIn = async (path: string) => {
  const withoutCode = (await read(path)).replaceAll(/^```.*?^```$/gms, '')
  return [...withoutCode.matchAll(/^#+ (.+)$/gm)].map(([, heading = '']) => anchorOf(heading))
}

/** The series that the service offers, with the suffixes of histograms. */
export const knownMetrics = () => {
  const metrics = createMetrics({ ways: signInLabels(), limiters: limiterNames })
  metrics.watch({
    isReady: () => true,
    freeSpace: async () => 1,
    workers: { queueLength: () => 0 },
    cache: { ping: async () => {}, isFull: () => false },
    database: {},
    mails: { countWaiting: async () => 0, oldestWaitSeconds: async () => 0 },
    webhooks: { countWaiting: async () => 0 },
    logoutNotices: { countWaiting: async () => 0, oldestWaitSeconds: async () => 0 },
    endedSessions: { age: () => 0, size: () => ({ entries: 0 }) },
    loadedKeys: { age: () => 0 },
    openidProvider: { keyAges: () => ({}) },
    clockWatch: { offset: () => 0 },
    activeUsers: { recent: async () => ({ day: 0, week: 0, month: 0 }) },
  })
  return metrics
    .names()
    .flatMap(({ name, type }) => (type === 'histogram' ? [`${name}_bucket`, `${name}_count`, `${name}_sum`] : [name]))
}

export const metricsNamedIn = (text: string) => new Set(text.match(/\b(?:latchkey|process|nodejs)_[a-z0-9_]+\b/g) ?? [])
