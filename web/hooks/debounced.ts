import { useEffect, useState } from 'preact/hooks'

/** The value as it was when the typing last paused. */
export const useDebounced = <Value>(value: Value, pause = 250) => {
  const [debounced, setDebounced] = useState(value)
  useEffect(() => {
    const timer = setTimeout(() => setDebounced(value), pause)
    return () => clearTimeout(timer)
  }, [value, pause])
  return debounced
}
