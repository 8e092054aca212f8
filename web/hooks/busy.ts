import { useRef, useState } from 'preact/hooks'

/** What `onPress` returns if another page or another step follows: the button stays busy until then. */
export const staysBusy = 'stays-busy'

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
    if ((await work) === staysBusy) return
    isRunning.current = false
    setBusy(false)
  }
  return { isBusy, run }
}
