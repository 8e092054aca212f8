import { useEffect, useState } from 'preact/hooks'
import { useWords } from '../settings.js'
import { useStableCallback } from '../stable-callback.js'
import { fill } from '../words/format.js'

/** Counts down to the next allowed attempt. A screen reader reads it when asked, and not every second. */
export const Countdown = ({ seconds, onEnd }: { seconds: number; onEnd: () => void }) => {
  const words = useWords('common')
  const [left, setLeft] = useState(seconds)
  const end = useStableCallback(onEnd)
  useEffect(() => {
    // Measured with the clock, because timers of a hidden tab run slow.
    const until = Date.now() + seconds * 1_000
    const timer = setInterval(() => setLeft(Math.max(0, Math.ceil((until - Date.now()) / 1_000))), 250)
    return () => clearInterval(timer)
  }, [seconds])
  useEffect(() => {
    if (left === 0) end()
  }, [left])
  return (
    <p class="countdown" role="timer">
      {left === 0 ? words.tryAgainNow : fill(words.tryAgainIn, { time: inUnits(left) })}
    </p>
  )
}

/** "59 min 17 s": these units are the same in all our languages. */
const inUnits = (seconds: number) => {
  const parts = { h: Math.floor(seconds / 3_600), min: Math.floor(seconds / 60) % 60, s: seconds % 60 }
  const shown = Object.entries(parts).filter(([, count]) => count > 0)
  return shown.map(([unit, count]) => `${count}\u00a0${unit}`).join(' ')
}
