import { useEffect, useRef, useState } from 'preact/hooks'
import type { PersonalData } from '#client/client.js'
import { passwordRuleIds, passwordRules } from '#contract/password-rules.js'
import type { Strength } from '#contract/schemas.js'

import { client } from '../browser/client.js'
import { useWords } from '../hooks/settings.js'
import { useStableCallback } from '../hooks/stable-callback.js'
import { feedbackOf } from '../words/passwords.js'
import { CheckIcon, CrossIcon, Icon } from './icons.js'

type Props = {
  password: string
  /** The password was refused. The list shows the rules that it misses; if it meets all, the field already shows the advice. */
  isRefused?: boolean
}

const pauseInTyping = 450

/** Shows the rules at once, and the estimate after a pause in typing. Without an estimate, no password looks strong enough. */
export const StrengthMeter = ({ password, isRefused = false }: Props) => {
  const words = useWords('password')
  const container = useRef<HTMLDivElement>(null)
  const estimate = useEstimate(password, () => personalDataAround(container.current))
  const isFailed = password !== '' && estimate === 'failed'
  const shownEstimate = password === '' || estimate === 'failed' ? undefined : estimate
  return (
    <div class={isFailed ? 'strength unchecked' : 'strength'} ref={container}>
      {/* This line is always there, so that the button below does not move away when the user is about to press it. */}
      <div class="strength-line">
        <Score strength={shownEstimate?.strength} />
      </div>
      <Rules password={password} isStrong={shownEstimate?.strength.isStrong ?? false} isRefused={isRefused} />
      <div class="strength-feedback" aria-live="polite">
        {isFailed && <p class="field-hint">{words.unchecked}</p>}
        {shownEstimate &&
          !(isRefused && meetsRules(password)) &&
          !shownEstimate.strength.isStrong &&
          feedbackOf(shownEstimate.ids, words).map((sentence) => <p key={sentence}>{sentence}</p>)}
      </div>
    </div>
  )
}

/** How many fields of the bar are filled. A password that would be refused fills two at most. */
const filledSteps = ({ score, isStrong }: Strength['strength']) => (isStrong ? score + 1 : Math.min(score + 1, 2))

const Score = ({ strength }: { strength: Strength['strength'] | undefined }) => {
  const words = useWords('password')
  const score = strength?.score
  const steps = strength ? filledSteps(strength) : 0
  return (
    <>
      <div class={strength?.isStrong ? 'strength-bar strong' : 'strength-bar'} aria-hidden="true">
        {[1, 2, 3, 4, 5].map((step) => (
          <span key={step} class={step <= steps ? 'filled' : ''} />
        ))}
      </div>
      <p class="strength-label" role="status">
        {score !== undefined && (
          <>
            <span class="visually-hidden">{words.strength} </span>
            {words.scores[score as keyof typeof words.scores]}
          </>
        )}
      </p>
    </>
  )
}

/** The last rule comes from the estimate: a weak password is refused even if it has every kind of character. */
const Rules = ({ password, isStrong, isRefused }: { password: string; isStrong: boolean; isRefused: boolean }) => {
  const words = useWords('password')
  return (
    <>
      {/* The list is read out with the field. With a label, a screen reader would read the label instead of the list. */}
      <p class="visually-hidden">{words.rulesTitle}</p>
      <ul class="password-rules">
        {passwordRuleIds.map((rule) => (
          <Rule key={rule} text={words.rules[rule]} isMet={passwordRules[rule].test(password)} isRefused={isRefused} />
        ))}
        <Rule text={words.strongEnough} isMet={isStrong} isRefused={isRefused} />
      </ul>
    </>
  )
}

const Rule = ({ text, isMet, isRefused }: { text: string; isMet: boolean; isRefused: boolean }) => {
  const words = useWords('password')
  const UnmetIcon = isRefused ? CrossIcon : CircleIcon
  return (
    <li class={isMet ? 'met' : isRefused ? 'missed' : ''}>
      {isMet ? <CheckIcon size={14} /> : <UnmetIcon size={14} />}
      {text}
      <span class="visually-hidden"> ({isMet ? words.met : words.unmet})</span>
    </li>
  )
}

const meetsRules = (password: string) => passwordRuleIds.every((rule) => passwordRules[rule].test(password))

const useEstimate = (password: string, readPersonalData: () => PersonalData) => {
  const personalData = useStableCallback(readPersonalData)
  const [result, setResult] = useState<Strength | 'failed'>()
  useEffect(() => {
    let isCurrent = true
    if (password === '') {
      setResult(undefined)
      return
    }
    const estimate = async () => {
      const answer = await client.passwordStrength({ ...personalData(), password })
      // A late answer is about an older password.
      if (isCurrent) setResult(answer.refused ? 'failed' : answer.value)
    }
    const timer = setTimeout(() => void estimate(), pauseInTyping)
    return () => {
      isCurrent = false
      clearTimeout(timer)
    }
  }, [password])
  return result
}

/** Reads the other fields of the form, as the user has filled them in. */
const personalDataAround = (place: HTMLElement | null): PersonalData => {
  const values = new FormData(place?.closest('form') ?? undefined)
  const entries = (['username', 'email', 'name'] as const).flatMap((name) => {
    const value = values.get(name)
    return typeof value === 'string' && value !== '' ? [[name, value]] : []
  })
  return Object.fromEntries(entries)
}

const CircleIcon = ({ size }: { size: number }) => (
  <Icon size={size}>
    <circle cx="10" cy="10" r="5.2" />
  </Icon>
)
