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
  /** The password was refused. The list shows what is missing; if nothing is, the field has the advice already. */
  refused?: boolean
}

const pauseInTyping = 450

/** The rules at once, the estimate after a pause in typing. Without an estimate nothing looks finished. */
export const StrengthMeter = ({ password, refused = false }: Props) => {
  const words = useWords('password')
  const container = useRef<HTMLDivElement>(null)
  const estimate = useEstimate(password, () => personalDataAround(container.current))
  const isFailed = password !== '' && estimate === 'failed'
  const shownEstimate = password === '' || estimate === 'failed' ? undefined : estimate
  return (
    <div class={isFailed ? 'strength unchecked' : 'strength'} ref={container}>
      {/* Always there, so that the button below does not move away when the user is about to press it. */}
      <div class="strength-line">
        <Score strength={shownEstimate?.strength} />
      </div>
      <Rules password={password} isStrong={shownEstimate?.strength.isStrong ?? false} refused={refused} />
      <div class="strength-feedback" aria-live="polite">
        {isFailed && <p class="field-hint">{words.unchecked}</p>}
        {shownEstimate &&
          !(refused && meetsRules(password)) &&
          !shownEstimate.strength.isStrong &&
          feedbackOf(shownEstimate.ids, words).map((sentence) => <p key={sentence}>{sentence}</p>)}
      </div>
    </div>
  )
}

/** A password that would be refused looks refused: it never fills more than the first two fields. */
const stepsOf = ({ score, isStrong }: Strength['strength']) => (isStrong ? score + 1 : Math.min(score + 1, 2))

const Score = ({ strength }: { strength: Strength['strength'] | undefined }) => {
  const words = useWords('password')
  const score = strength?.score
  const steps = strength ? stepsOf(strength) : 0
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

/** The last rule is the estimate's: a weak password is refused although it has every kind of character. */
const Rules = ({ password, isStrong, refused }: { password: string; isStrong: boolean; refused: boolean }) => {
  const words = useWords('password')
  return (
    <>
      {/* The list is read out with the field. A label would be read in its place. */}
      <p class="visually-hidden">{words.rulesTitle}:</p>
      <ul class="password-rules">
        {passwordRuleIds.map((rule) => (
          <Rule key={rule} text={words.rules[rule]} met={passwordRules[rule].test(password)} refused={refused} />
        ))}
        <Rule text={words.strongEnough} met={isStrong} refused={refused} />
      </ul>
    </>
  )
}

const Rule = ({ text, met, refused }: { text: string; met: boolean; refused: boolean }) => {
  const words = useWords('password')
  const UnmetIcon = refused ? CrossIcon : CircleIcon
  return (
    <li class={met ? 'met' : refused ? 'missed' : ''}>
      {met ? <CheckIcon size={14} /> : <UnmetIcon size={14} />}
      {text}
      <span class="visually-hidden"> ({met ? words.met : words.unmet})</span>
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
