import { useEffect, useState } from 'preact/hooks'
import { useCommonWords } from '../settings.js'
import { fill } from '../words/fill.js'

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
      {left === 0 ? words.tryAgainNow : fill(words.tryAgainIn, { time: clock(left) })}
    </p>
  )
}

const clock = (seconds: number) => {
  const parts = [Math.floor(seconds / 3_600), Math.floor(seconds / 60) % 60, seconds % 60]
  const shown = parts[0] === 0 ? parts.slice(1) : parts
  return shown.map((part, place) => (place === 0 ? String(part) : String(part).padStart(2, '0'))).join(':')
}
