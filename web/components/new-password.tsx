import { useContext, useEffect, useRef, useState } from 'preact/hooks'
import type { PersonalData } from '#client/client.js'
import { type PasswordFindings, passwordRuleIds, passwordRules } from '#contract/password-rules.js'
import type { RefusalCode } from '#contract/refusals.js'
import type { Strength } from '#contract/schemas.js'
import { client } from '../browser/client.js'
import { useWords } from '../hooks/settings.js'
import { useStableCallback } from '../hooks/stable.js'
import type { Words } from '../words/catalogue.js'
import { fill } from '../words/format.js'
import { useProblems, useTranslatableProblems } from '../words/refusals.js'
import { Field } from './field.js'
import { FormContext } from './form.js'
import { CheckIcon, CrossIcon, Icon } from './icons.js'

type Props = { name: string; label: string; focused?: boolean }

export const NewPasswordField = ({ name, label, focused = false }: Props) => {
  const [password, setPassword] = useState('')
  const { problems } = useContext(FormContext)
  const { outerSpace, rulesLine } = useWords('password')
  const isRefused = password !== '' && problems.fields?.[name] !== undefined
  return (
    <Field
      name={name}
      label={label}
      type="password"
      autoComplete="new-password"
      focused={focused}
      onInput={setPassword}
      description={rulesLine}
      below={
        <>
          <p class="field-hint" role="status">
            {password.trim() === password ? '' : outerSpace}
          </p>
          <StrengthMeter password={password} isRefused={isRefused} />
        </>
      }
    />
  )
}

type MeterProps = {
  password: string
  /** The password was refused. The list shows the rules that it misses; if it meets all, the field already shows the advice. */
  isRefused?: boolean
}

const pauseInTyping = 450

/** Shows the rules at once, and the estimate after a pause in typing. Without an estimate, no password looks strong enough. */
const StrengthMeter = ({ password, isRefused = false }: MeterProps) => {
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
  if (password === '' && !isRefused) return <p class="field-hint">{words.rulesLine}</p>
  return (
    <>
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

type PasswordWords = Pick<Words['password'], 'rules' | 'strongEnough' | 'missing' | 'errors' | 'feedback'>

/** Sentences by id. An id that this page does not know, from a newer server, is left out. */
const sentencesOf = <Id extends string>(ids: string[], sentences: Record<Id, string>) =>
  ids.filter((id): id is Id => Object.hasOwn(sentences, id)).map((id) => sentences[id])

/** The weaknesses of a password, and then the advice: the catalogue has them in this order. */
export const feedbackOf = ({ feedback }: PasswordFindings, words: PasswordWords) => {
  const order = Object.keys(words.feedback)
  return sentencesOf(
    feedback.toSorted((left, right) => order.indexOf(left) - order.indexOf(right)),
    words.feedback,
  )
}

/**
 * The sentences about a rejected password. If it breaks rules, they name these rules, and the advice below the list of rules says how to
 * make the password stronger. If it breaks none, they say why it is too weak.
 */
export const errorsOf = ({ errors, feedback }: PasswordFindings, words: PasswordWords) => {
  const brokenRules = sentencesOf(errors, { ...words.rules, too_weak: words.strongEnough })
  const breaksRule = errors.some((id) => Object.hasOwn(words.rules, id))
  const others = errors.flatMap((id) => {
    const sentences = sentencesOf([id], words.errors)
    if (id !== 'too_weak') return sentences
    return breaksRule ? [] : [[...sentences, ...feedbackOf({ errors, feedback }, words)].join(' ')]
  })
  return breaksRule ? [fill(words.missing, { rules: brokenRules.join(', ') }), ...others] : others
}

/** `useProblems` for a form with a new password, whose field shows every broken rule. */
export const useNewPasswordProblems = (field: string, fieldOfRefusal: { [Code in RefusalCode]?: string } = {}) => {
  const words = useWords('password')
  const problemsOf = useProblems({ ...fieldOfRefusal, password_rejected: field })
  return useTranslatableProblems((refusal) => {
    const errors = refusal.ids ? errorsOf(refusal.ids, words) : []
    return errors.length > 0 ? { fields: { [field]: errors } } : problemsOf(refusal)
  })
}
