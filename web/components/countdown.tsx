import { useEffect, useState } from 'preact/hooks'
import { exactWait } from '#client/words/waits.js'
import { timeSpan } from '#contract/time-spans.js'
import { useSettings, useWords } from '../hooks/settings.js'
import { useStableCallback } from '../hooks/stable-callback.js'
import { fill } from '../words/format.js'

const secondsUntil = (moment: number) => Math.max(0, Math.ceil((moment - Date.now()) / 1_000))

/** Counts down to the next allowed attempt. A screen reader reads it when asked, and not every second. */
export const Countdown = ({ until, onEnd }: { until: number; onEnd: () => void }) => {
  const words = useWords('common')
  const [secondsLeft, setSecondsLeft] = useState(() => secondsUntil(until))
  const end = useStableCallback(onEnd)
  useEffect(() => {
    // Measured with the clock, because timers of a hidden tab run slow.
    const timer = setInterval(() => setSecondsLeft(secondsUntil(until)), 250)
    return () => clearInterval(timer)
  }, [until])
  useEffect(() => {
    if (secondsLeft === 0) end()
  }, [secondsLeft])
  return (
    <p class="countdown" role="timer">
      {secondsLeft === 0 ? words.tryAgainNow : fill(words.tryAgainIn, { time: exactWait(secondsLeft) })}
    </p>
  )
}

/** The waiting time for a screen reader, as a part of a message. It does not change, so it is read once. */
export const SpokenWait = ({ until }: { until: number }) => {
  const words = useWords('common')
  const { locale } = useSettings()
  const [secondsLeft] = useState(() => secondsUntil(until))
  return (
    <span class="visually-hidden"> {fill(words.tryAgainInAbout, { time: timeSpan(1_000 * secondsLeft, locale) })}</span>
  )
}
