/** Waits for something to become true, and says what it was when it does not. */
export const until = async (what: string, holds: () => boolean | Promise<boolean>, milliseconds = 60_000) => {
  const end = performance.now() + milliseconds
  while (!(await holds())) {
    if (performance.now() > end) throw new Error(`Not within ${milliseconds} ms: ${what}`)
    await new Promise((resolve) => setTimeout(resolve, 25))
  }
}
