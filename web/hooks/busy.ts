import { useRef, useState } from 'preact/hooks'

/** The result of a press after which another page or another step follows: the button stays busy until then. */
export const leaving = 'leaving'

/** Runs one piece of work at a time, and says whether it still runs. */
export const useBusy = () => {
  const [isBusy, setBusy] = useState(false)
  // The state changes with the next render, and a second press may come before that.
  const isRunning = useRef(false)
  const run = async (start: () => unknown) => {
    if (isRunning.current) return
    const work = start()
    if (!(work instanceof Promise)) return
    isRunning.current = true
    setBusy(true)
    if ((await work) === leaving) return
    isRunning.current = false
    setBusy(false)
  }
  return { isBusy, run }
}
