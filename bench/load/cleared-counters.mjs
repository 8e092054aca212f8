// The limits of applications are fixed, and one machine reaches them at once. So their counters are emptied while they count.
import { Redis } from 'ioredis'

const every = 50

/** @type {(redisUrl: string) => () => void} */
export const keepCountersEmpty = (redisUrl) => {
  const redis = new Redis(redisUrl)
  const timer = setInterval(() => void redis.flushdb().catch(() => undefined), every)
  return () => {
    clearInterval(timer)
    redis.disconnect()
  }
}
