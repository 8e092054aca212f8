import { useEffect, useState } from 'preact/hooks'
import { useCommonWords } from '../settings.js'
import { fill } from '../words/format.js'

/** Counts down to the moment when trying again makes sense. A listener may ask for it but is not told every second. */
export const Countdown = ({ seconds, onEnd }: { seconds: number; onEnd: () => void }) => {
  const words = useCommonWords()
  const [left, setLeft] = useState(seconds)
  useEffect(() => {
    // Measured against the clock: timers of a hidden tab run slow.
    const end = Date.now() + seconds * 1_000
    const timer = setInterval(() => setLeft(Math.max(0, Math.ceil((end - Date.now()) / 1_000))), 250)
    return () => clearInterval(timer)
  }, [seconds])
  useEffect(() => {
    if (left === 0) onEnd()
  }, [left])
  return (
    <p class="countdown" role="timer">
      {left === 0 ? words.tryAgainNow : fill(words.tryAgainIn, { time: inUnits(left) })}
    </p>
  )
}

/** "59 min 17 s": these signs are the same in every language of ours. */
const inUnits = (seconds: number) => {
  const parts = { h: Math.floor(seconds / 3_600), min: Math.floor(seconds / 60) % 60, s: seconds % 60 }
  const shown = Object.entries(parts).filter(([, count]) => count > 0)
  return shown.map(([unit, count]) => `${count}\u00a0${unit}`).join(' ')
}
