import type { RefObject } from 'preact'
import { useEffect, useRef, useState } from 'preact/hooks'
import { type About, api, type Strength } from '../api.js'
import { rules, translateFeedback } from '../passwords.js'
import type { Words } from '../words/catalogue.js'
import { CheckIcon, CircleIcon } from './icons.js'

type Props = {
  password: string
  words: Words['password']
  /** The service has refused this password and said why: the same sentences need not stand there twice. */
  quiet?: boolean
}

const pauseInTyping = 450

/** The rules at once, the estimate after a pause in typing. Where the service gives none, nothing looks finished. */
export const StrengthMeter = ({ password, words, quiet = false }: Props) => {
  const place = useRef<HTMLDivElement>(null)
  const estimate = useStrength(password, place)
  const strength = estimate === 'failed' ? undefined : estimate
  const score = strength?.score ?? 0
  const shown = password !== '' && strength !== undefined
  const unchecked = password !== '' && estimate === 'failed'
  return (
    <div class={unchecked ? 'strength unchecked' : 'strength'} ref={place}>
      {/* Always there, so that the button below does not move away under somebody who is about to press it. */}
      <div class="strength-line">
        <div class={`strength-bar score-${score}`} aria-hidden="true">
          {[1, 2, 3, 4].map((step) => (
            <span key={step} class={shown && step <= Math.max(1, score) ? 'filled' : ''} />
          ))}
        </div>
        <p class="strength-label" role="status">
          {shown && (
            <>
              <span class="visually-hidden">{words.strength} </span>
              {words.scores[score]}
            </>
          )}
        </p>
      </div>
      <ul class="password-rules" aria-label={words.rulesTitle}>
        {Object.entries(words.rules).map(([rule, text]) => {
          const met = rules[rule as keyof typeof rules](password)
          return (
            <li key={rule} class={met ? 'met' : ''}>
              {met ? <CheckIcon size={14} /> : <CircleIcon size={14} />}
              {text}
              <span class="visually-hidden"> ({met ? words.met : words.unmet})</span>
            </li>
          )
        })}
      </ul>
      <div class="strength-feedback" aria-live="polite">
        {unchecked && <p class="field-hint">{words.unchecked}</p>}
        {shown &&
          !quiet &&
          !strength.isStrong &&
          strength.feedback.map((line) => <p key={line}>{translateFeedback(line, words)}</p>)}
      </div>
    </div>
  )
}

const useStrength = (password: string, place: RefObject<HTMLElement | null>) => {
  const [strength, setStrength] = useState<Strength['strength'] | 'failed'>()
  useEffect(() => {
    let current = true
    if (password === '') {
      setStrength(undefined)
      return
    }
    const estimate = async () => {
      const answer = await api.strength(password, aboutIn(place.current))
      // An answer that comes late is about a password that is no longer there.
      if (current) setStrength(answer.ok ? answer.value.strength : 'failed')
    }
    const timer = setTimeout(() => void estimate(), pauseInTyping)
    return () => {
      current = false
      clearTimeout(timer)
    }
  }, [password])
  return strength
}

/** What the form around the meter already says of the person. */
const aboutIn = (place: HTMLElement | null): About => {
  const values = new FormData(place?.closest('form') ?? undefined)
  const given = (['username', 'email', 'name'] as const).flatMap((name) => {
    const value = values.get(name)
    return typeof value === 'string' && value !== '' ? [[name, value]] : []
  })
  return Object.fromEntries(given)
}
