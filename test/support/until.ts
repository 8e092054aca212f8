/**
 * Waits for something to become true, and says what it was when it does not. It asks often at first, and less often the
 * longer it takes: asking keeps a core at work that the others need.
 */
export const until = async (what: string, holds: () => boolean | Promise<boolean>, milliseconds = 60_000) => {
  const start = performance.now()
  while (!(await holds())) {
    const waited = performance.now() - start
    if (waited > milliseconds) throw new Error(`Not within ${milliseconds} ms: ${what}`)
    const pause = Math.min(20 + waited / 8, 500)
    await new Promise((resolve) => setTimeout(resolve, pause))
  }
}
