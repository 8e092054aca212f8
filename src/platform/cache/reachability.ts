import type { Logger } from 'pino'

type Dependencies = {
  ping: () => Promise<void>
  /** Reports to the store what it has missed, before the store is used again. */
  catchUp: () => Promise<void>
  log: Pick<Logger, 'info' | 'warn'>
  probeEvery: number
}

const messageOf = (error: unknown) =>
  error instanceof Error ? ((error.cause as Error | undefined) ?? error).message : ''

/**
 * Knows whether the shared store can be used. After a failure no request waits for the store until a probe has found that it works. So
 * an outage costs the requests that are under way one timeout, and later requests nothing.
 */
export const createReachability = ({ ping, catchUp, log, probeEvery }: Dependencies) => {
  let isReachable = true
  let isClosed = false
  let timer: NodeJS.Timeout | undefined
  let returning: Promise<void> | undefined

  const returnToStore = async () => {
    await catchUp()
    isReachable = true
    clearTimeout(timer)
    log.info('the shared counters are back: limits are shared between instances again')
  }

  const onAnswer = async () => {
    if (isReachable) return
    returning ??= returnToStore().finally(() => {
      returning = undefined
    })
    await returning
  }

  const onFailure = (error: unknown) => {
    if (!isReachable || isClosed) return
    isReachable = false
    log.warn({ reason: messageOf(error) }, 'the shared counters cannot be used: limits are counted in this process')
    probeSoon()
  }

  const probeSoon = () => {
    clearTimeout(timer)
    timer = setTimeout(() => void ping().then(onAnswer).catch(probeSoon), probeEvery)
    timer.unref()
    if (isClosed) clearTimeout(timer)
  }

  return {
    /** Asks the shared store. The result is undefined if the store cannot be used. */
    attempt: async <Result>(ask: () => Promise<Result>): Promise<Result | undefined> => {
      if (!isReachable) return undefined
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
      isClosed = true
      clearTimeout(timer)
    },
  }
}
