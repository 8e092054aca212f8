import { useEffect, useState } from 'preact/hooks'

/** The typed value, once the typing has paused. */
export const useDebounced = <Value>(value: Value, pause = 250) => {
  const [settled, setSettled] = useState(value)
  useEffect(() => {
    const timer = setTimeout(() => setSettled(value), pause)
    return () => clearTimeout(timer)
  }, [value, pause])
  return settled
}
