import type { Clock } from '../lib/clock.js'
import { seconds } from '../lib/durations.js'
import type { NounPlatform, Nouns } from '../service/nouns.js'
import type { Config } from '../settings/config.js'
import type { backgroundOf, OpenidNouns } from './openid-nouns.js'

/** The database is asked at most this often whether there is an application. */
const checkInterval = 1 * seconds

type OnDemand<Loaded> = { isWanted: () => Promise<boolean>; load: () => Promise<Loaded> }

/** Calls `load` once, when `isWanted` first says yes. From then on the loaded value is available or not, as `isWanted` last said. */
const createOnDemand = <Loaded>(clock: Clock, { isWanted, load }: OnDemand<Loaded>) => {
  let loaded: Loaded | undefined
  let isOpen = false
  let checking: Promise<void> | undefined
  let askedAt = Number.NEGATIVE_INFINITY

  const current = () => (isOpen ? loaded : undefined)

  const check = async () => {
    try {
      const isWantedNow = await isWanted()
      if (isWantedNow) loaded ??= await load()
      isOpen = isWantedNow
    } catch (error) {
      // If the database does not answer, a provider that is open stays open.
      if (current()) return
      // Whether there is an application is not known. The next request must ask again, and not answer that there is none.
      askedAt = Number.NEGATIVE_INFINITY
      throw error
    } finally {
      checking = undefined
    }
  }

  const checkNow = async () => {
    checking ??= check()
    await checking
    return current()
  }

  const checkAtMostOnceASecond = async () => {
    // While a slow database has not answered, requests use the provider that is open. They wait only if none is.
    if (checking) return current() ?? checkNow()
    const moment = clock.now().getTime()
    if (Math.abs(moment - askedAt) < checkInterval) return current()
    askedAt = moment
    return checkNow()
  }

  return { checkNow, checkAtMostOnceASecond }
}

export type OpenidProvider = ReturnType<typeof createOpenidProvider>

/**
 * The OpenID provider, with which applications sign their users in. Nothing of it is loaded, made or started before there is an
 * application. The first application opens it, and the deletion of the last one closes it, also while the service runs.
 */
export const createOpenidProvider = (config: Config, platform: NounPlatform, nouns: Nouns) => {
  const { clock, log } = platform
  let background: ReturnType<typeof backgroundOf> = { parts: [], jobs: [] }
  let isRunning = false
  let keyAges: OpenidNouns['loadedApplicationKeys']['ages'] = () => ({})

  const startParts = () => {
    for (const part of background.parts.toReversed()) part.start()
  }

  const load = async () => {
    const { createOpenidNouns, backgroundOf } = await import('./openid-nouns.js')
    const opened: OpenidNouns = createOpenidNouns(config, platform, nouns)
    background = backgroundOf(opened)
    keyAges = opened.loadedApplicationKeys.ages
    if (isRunning) startParts()
    return opened
  }
  const onDemand = createOnDemand(clock, { isWanted: nouns.applications.exist, load })

  return {
    /** Gives undefined while there is no application: then every address of the provider answers 404. */
    open: onDemand.checkAtMostOnceASecond,
    /** The ages of the keys in seconds, by algorithm, for the metrics. */
    keyAges: () => keyAges(),
    /** The housekeeping calls this in each round, so that an instance without requests opens the provider, too. */
    jobs: async () => {
      await onDemand.checkAtMostOnceASecond()
      return background.jobs
    },
    start: () => {
      isRunning = true
      startParts()
      onDemand.checkNow().catch((err: unknown) => log.warn({ err }, 'the applications could not be read'))
    },
    stop: async () => {
      isRunning = false
      await Promise.allSettled(background.parts.map((part) => part.stop()))
    },
  }
}
