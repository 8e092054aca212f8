import type { Config } from '../config.js'
import type { Clock } from '../lib/clock.js'
import { seconds } from '../lib/durations.js'
import type { NounPlatform, Nouns } from './nouns.js'
import type { backgroundOf, OpenidNouns } from './openid-nouns.js'

/** While there is no application, the database is asked for one at most this often. */
const askedEvery = 1 * seconds

/** Remembers what was loaded. While there is nothing to load, `load` is called again, but not by every request. */
const createOpening = <Loaded>(clock: Clock, load: () => Promise<Loaded | undefined>) => {
  let loaded: Loaded | undefined
  let loading: Promise<Loaded | undefined> | undefined
  let askedAt = Number.NEGATIVE_INFINITY

  const loadOnce = async () => {
    try {
      loaded = await load()
      return loaded
    } catch (error) {
      // Not known: the next request asks again, and must not answer that there is none.
      askedAt = Number.NEGATIVE_INFINITY
      throw error
    } finally {
      loading = undefined
    }
  }

  const now = async () => {
    if (loaded) return loaded
    loading ??= loadOnce()
    return loading
  }

  const atMostOnceASecond = async () => {
    if (loaded) return loaded
    const moment = clock.now().getTime()
    if (moment - askedAt < askedEvery) return loading
    askedAt = moment
    return now()
  }

  return { now, atMostOnceASecond }
}

export type OpenidProvider = ReturnType<typeof createOpenidProvider>

/**
 * The provider that applications sign their users in with. Nothing of it is loaded, made or started while there is no
 * application; the first one opens it, also while the service runs.
 */
export const createOpenidProvider = (config: Config, platform: NounPlatform, nouns: Nouns) => {
  const { clock, log } = platform
  let background: ReturnType<typeof backgroundOf> = { parts: [], jobs: [] }
  let isRunning = false
  let keyAges: OpenidNouns['loadedApplicationKeys']['ages'] = () => ({})

  const startParts = () => {
    for (const part of background.parts.toReversed()) part.start()
  }

  const opening = createOpening<OpenidNouns>(clock, async () => {
    if (!(await nouns.applications.exist())) return undefined
    const { createOpenidNouns, backgroundOf } = await import('./openid-nouns.js')
    const opened = createOpenidNouns(config, platform, nouns)
    background = backgroundOf(opened)
    keyAges = opened.loadedApplicationKeys.ages
    if (isRunning) startParts()
    return opened
  })

  return {
    /** Undefined while there is no application: then every address of the provider is unknown. */
    open: opening.atMostOnceASecond,
    /** For the metrics: in seconds, by algorithm. */
    keyAges: () => keyAges(),
    /** Asked for in each round of the housekeeping, so that an instance without requests opens the provider too. */
    jobs: async () => {
      await opening.atMostOnceASecond()
      return background.jobs
    },
    start: () => {
      isRunning = true
      startParts()
      opening.now().catch((err: unknown) => log.warn({ err }, 'the applications could not be read'))
    },
    stop: async () => {
      isRunning = false
      await Promise.allSettled(background.parts.map((part) => part.stop()))
    },
  }
}
