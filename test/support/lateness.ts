/** How much later than asked for a timer of this process fires, in total: how busy the machine is. */
export const watchLateness = () => {
  const [began, every] = [performance.now(), 100]
  let ticks = 0
  const timer = setInterval(() => {
    ticks += 1
  }, every)
  return () => {
    clearInterval(timer)
    return performance.now() - began - ticks * every
  }
}
