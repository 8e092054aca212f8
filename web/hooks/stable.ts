import { useEffect, useRef, useState } from 'preact/hooks'

/**
 * A function that stays the same while its component lives and always does what the newest render says. An effect that
 * calls it does not run again when a parent passes a new function.
 */
export const useStableCallback = <Args extends unknown[], Result>(callback: (...args: Args) => Result) => {
  const newest = useRef(callback)
  newest.current = callback
  const stable = useRef((...args: Args) => newest.current(...args))
  return stable.current
}

/** The value as it was when the typing last paused. */
export const useDebounced = <Value>(value: Value, pause = 250) => {
  const [debounced, setDebounced] = useState(value)
  useEffect(() => {
    const timer = setTimeout(() => setDebounced(value), pause)
    return () => clearTimeout(timer)
  }, [value, pause])
  return debounced
}
