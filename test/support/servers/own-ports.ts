/** More than `maxWorkers` in the configuration of the tests. */
const shares = 16

/**
 * Ports of this test process alone, one after another. A port is chosen some time before a server takes it: two processes
 * that chose at random would meet now and then. The first is random, for runs beside this one.
 */
export const portsFrom = (lowest: number, count: number) => {
  const size = Math.floor(count / shares)
  const own = Number(process.env.VITEST_POOL_ID ?? 0) % shares
  let at = Math.floor(Math.random() * size)
  return () => {
    at = (at + 1) % size
    return lowest + own * size + at
  }
}
