import { useEffect, useRef, useState } from 'preact/hooks'
import { api, type PersonalData, type Strength } from '../api.js'
import { rules, translateFeedback } from '../passwords.js'
import { useWords } from '../settings.js'
import { useStableCallback } from '../stable-callback.js'
import { CheckIcon, CircleIcon } from './icons.js'

type Props = {
  password: string
  /** The service has refused this password and said why, so the same sentences are not shown twice. */
  quiet?: boolean
}

const pauseInTyping = 450

/** The rules at once, the estimate after a pause in typing. Without an estimate nothing looks finished. */
export const StrengthMeter = ({ password, quiet = false }: Props) => {
  const words = useWords('password')
  const place = useRef<HTMLDivElement>(null)
  const estimate = useStrength(password, () => personalDataAround(place.current))
  const strength = estimate === 'failed' ? undefined : estimate
  const score = strength?.score ?? 0
  const shown = password !== '' && strength !== undefined
  const unchecked = password !== '' && estimate === 'failed'
  return (
    <div class={unchecked ? 'strength unchecked' : 'strength'} ref={place}>
      {/* Always there, so that the button below does not move away when the user is about to press it. */}
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

const useStrength = (password: string, readPersonalData: () => PersonalData) => {
  const personalData = useStableCallback(readPersonalData)
  const [strength, setStrength] = useState<Strength['strength'] | 'failed'>()
  useEffect(() => {
    let current = true
    if (password === '') {
      setStrength(undefined)
      return
    }
    const estimate = async () => {
      const answer = await api.strength(password, personalData())
      // A late answer is about an older password.
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

/** What the user has typed into the other fields of the form. */
const personalDataAround = (place: HTMLElement | null): PersonalData => {
  const values = new FormData(place?.closest('form') ?? undefined)
  const given = (['username', 'email', 'name'] as const).flatMap((name) => {
    const value = values.get(name)
    return typeof value === 'string' && value !== '' ? [[name, value]] : []
  })
  return Object.fromEntries(given)
}
