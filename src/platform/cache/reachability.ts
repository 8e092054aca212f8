import type { Logger } from 'pino'

type Dependencies = {
  ping: () => Promise<void>
  /** Gives the store what it has missed, before it is used again. */
  catchUp: () => Promise<void>
  log: Pick<Logger, 'info' | 'warn'>
  probeEvery: number
}

const message = (error: unknown) =>
  error instanceof Error ? ((error.cause as Error | undefined) ?? error).message : ''

/**
 * Knows whether the shared store can be used. After a failure no request waits for it until a probe has found it working: an outage
 * costs the requests under way one timeout, and later ones nothing.
 */
export const createReachability = ({ ping, catchUp, log, probeEvery }: Dependencies) => {
  let reachable = true
  let closed = false
  let timer: NodeJS.Timeout | undefined
  let comingBack: Promise<void> | undefined

  const comeBack = async () => {
    await catchUp()
    reachable = true
    clearTimeout(timer)
    log.info('the shared counters are back: limits are shared between instances again')
  }

  const onAnswer = async () => {
    if (reachable) return
    comingBack ??= comeBack().finally(() => {
      comingBack = undefined
    })
    await comingBack
  }

  const onFailure = (error: unknown) => {
    if (!reachable || closed) return
    reachable = false
    log.warn({ reason: message(error) }, 'the shared counters cannot be used: limits are counted in this process')
    probeSoon()
  }

  const probeSoon = () => {
    clearTimeout(timer)
    timer = setTimeout(() => void ping().then(onAnswer).catch(probeSoon), probeEvery)
    timer.unref()
    if (closed) clearTimeout(timer)
  }

  return {
    /** Undefined when the shared store could not do it. */
    attempt: async <Result>(ask: () => Promise<Result>): Promise<Result | undefined> => {
      if (!reachable) return undefined
      try {
        return await ask()
      } catch (error) {
        onFailure(error)
        return undefined
      }
    },
    onAnswer,
    onFailure,
    stop: () => {
      closed = true
      clearTimeout(timer)
    },
  }
}
