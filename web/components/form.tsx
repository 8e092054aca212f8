import { type ComponentChildren, createContext } from 'preact'
import { useEffect, useRef, useState } from 'preact/hooks'
import { exactWait } from '#client/words/waits.js'
import { timeSpan } from '#contract/time-spans.js'
import { useSettings, useWords } from '../hooks/settings.js'
import { useStableCallback } from '../hooks/stable.js'
import { fill } from '../words/format.js'
import { SubmitButton, staysBusy, useBusy } from './button.js'
import { HelpLink, Notice } from './notice.js'

export type FieldProblems = Record<string, string[]>

/** The problems of fields, by name, and of the whole form (`notice`). `offer` is shown below the notice. */
export type Problems = {
  fields?: FieldProblems
  notice?: string
  offer?: ComponentChildren
  retryAfter?: number | undefined
  /** The notice tells the user to ask the administrator. */
  hasHelpLink?: boolean
  /** Returns the same problems in the language that the visitor has chosen since. */
  translate?: () => Problems
}

export type Values = Record<string, string>

type Props = {
  children: ComponentChildren
  submitLabel: string
  look?: 'primary' | 'plain' | 'danger'
  /** Adds further problems that the page can find itself, so that the user sees all of them at once. */
  check?: (values: Values, invalid: FieldProblems) => Promise<FieldProblems>
  /** Returns the problems, or nothing if there are none. */
  onSubmit: (values: Values) => Promise<Problems | undefined>
}

type Context = {
  problems: Problems
  submissionCount: number
  /** How often the form was answered with problems. */
  answerCount: number
  /** The field to which the focus moves now. A screen reader says its error together with the field. */
  readByFocus: string | undefined
  /** Removes the messages of a field, which are about its old value. */
  onEdit: (field: string) => void
  /** Sends the form, as its button does. */
  send: () => void
}

export const FormContext = createContext<Context>({
  problems: {},
  submissionCount: 0,
  answerCount: 0,
  readByFocus: undefined,
  onEdit: () => undefined,
  send: () => undefined,
})

/** Checks and sends, shows each problem at its field, and moves the focus to the first one. */
export const Form = ({ children, submitLabel, look = 'primary', check, onSubmit }: Props) => {
  const { required, requiredNamed } = useWords('common')
  const { email_shape: emailShape } = useWords('refusals')
  const form = useRef<HTMLFormElement>(null)
  const [problems, setProblems] = useState<Problems>({})
  const [submissionCount, setSubmissionCount] = useState(0)
  const [answerCount, setAnswerCount] = useState(0)
  const [readByFocus, setReadByFocus] = useState<string>()
  const { isBusy, run } = useBusy()
  const [waitUntil, setWaitUntil] = useState<number>()
  useAfterLanguageChange(() => setProblems(translateProblems))

  useEffect(() => {
    if (answerCount === 0) return
    const wrong = form.current?.querySelector<HTMLElement>('[aria-invalid=true]')
    wrong?.focus()
    // The sentence is below the field, and may be below the window.
    wrong?.closest('form > *')?.scrollIntoView({ block: 'nearest' })
    form.current?.querySelector(':scope > .notice')?.scrollIntoView({ block: 'nearest' })
  }, [answerCount])

  const endWait = () => setWaitUntil(undefined)
  const countAnswer = () => setAnswerCount((count) => count + 1)
  const submit = async (formElement: HTMLFormElement) => {
    // The notice is read out again, with the time that is left.
    if (waitUntil !== undefined) return countAnswer()
    setSubmissionCount(submissionCount + 1)
    const values = valuesOf(formElement)
    const invalid = findInvalid(formElement, { required, requiredNamed, emailShape })
    const fieldProblems = check ? await check(values, invalid) : invalid
    const foundProblems = Object.keys(fieldProblems).length > 0 ? { fields: fieldProblems } : await onSubmit(values)
    if (!foundProblems) return staysBusy
    setProblems(foundProblems)
    setReadByFocus(fieldToFocus(formElement, foundProblems))
    setWaitUntil(foundProblems.retryAfter === undefined ? undefined : Date.now() + foundProblems.retryAfter * 1_000)
    return countAnswer()
  }
  const onEdit = (field: string) => setProblems((current) => withoutField(field, current))
  const send = () => form.current?.requestSubmit()

  return (
    <FormContext.Provider value={{ problems, submissionCount, answerCount, readByFocus, onEdit, send }}>
      <form
        ref={form}
        // With `post` the values never get into the address, even if the form is sent without this script.
        method="post"
        noValidate
        onSubmit={(event) => {
          event.preventDefault()
          const formElement = event.currentTarget
          void run(() => submit(formElement))
        }}
      >
        {/* The notice is a new element each time, so that a screen reader reads it out again. */}
        <FormNotice key={answerCount} problems={problems} waitUntil={waitUntil} onWaited={endWait} />
        {children}
        <SubmitButton look={look} isBusy={isBusy} disabled={waitUntil !== undefined}>
          {submitLabel}
        </SubmitButton>
      </form>
    </FormContext.Provider>
  )
}

type NoticeProps = { problems: Problems; waitUntil: number | undefined; onWaited: () => void }

const FormNotice = ({ problems: { notice, offer, hasHelpLink }, waitUntil, onWaited }: NoticeProps) => {
  // The value is kept, so that the sentence "try again now" stays when the time is over.
  const [until] = useState(waitUntil)
  if (notice === undefined) return null
  const below = until === undefined ? hasHelpLink && <HelpLink /> : <Countdown until={until} onEnd={onWaited} />
  return (
    <Notice kind="error" after={offer ?? below}>
      {notice}
      {until !== undefined && <SpokenWait until={until} />}
    </Notice>
  )
}

const useAfterLanguageChange = (onLanguageChange: () => void) => {
  const act = useStableCallback(onLanguageChange)
  const { language } = useSettings()
  const shownLanguage = useRef(language)
  useEffect(() => {
    if (shownLanguage.current === language) return
    shownLanguage.current = language
    act()
  }, [language])
}

/** The problems in the new language. Problems without a translation disappear, and so do those of fields that were changed since. */
const translateProblems = ({ translate, fields: remaining = {}, offer }: Problems): Problems => {
  if (!translate) return {}
  const { fields = {}, ...others } = translate()
  const stillWrong = Object.entries(fields).filter(([name]) => Object.hasOwn(remaining, name))
  return { ...others, fields: Object.fromEntries(stillWrong), offer, translate }
}

const withoutField = (field: string, problems: Problems): Problems => {
  if (!problems.fields?.[field]) return problems
  const { [field]: _, ...fields } = problems.fields
  return { ...problems, fields }
}

/** The first field with a problem; undefined if the focus is there already, because then the live region of the field says the error. */
const fieldToFocus = (form: HTMLFormElement, { fields = {} }: Problems) => {
  const wrongElements = [...form.elements].filter((element) =>
    Object.hasOwn(fields, element.getAttribute('name') ?? ''),
  )
  return wrongElements[0] === document.activeElement ? undefined : (wrongElements[0]?.getAttribute('name') ?? undefined)
}

/** The values of the form, by the names of its fields. */
export const valuesOf = (form: HTMLFormElement) =>
  Object.fromEntries([...new FormData(form)].map(([name, value]) => [name, typeof value === 'string' ? value : '']))

type InputWords = { required: string; requiredNamed: string; emailShape: string }

/** Names the field, so that three empty fields are not three times the same sentence. The words beside a box are too long for that. */
const sentenceForEmpty = (input: HTMLInputElement | HTMLSelectElement, { required, requiredNamed }: InputWords) => {
  const label = input.type === 'checkbox' ? undefined : input.labels?.[0]?.textContent
  return label ? fill(requiredNamed, { label }) : required
}

/** The browser knows which fields are invalid. The messages are ours, and are shown at the fields. */
const findInvalid = (form: HTMLFormElement, words: InputWords): FieldProblems => {
  const inputs = [...form.elements].filter(
    (element) => element instanceof HTMLInputElement || element instanceof HTMLSelectElement,
  )
  const invalid = inputs.filter((input) => isEmpty(input) || !input.validity.valid)
  const sentenceFor = (input: (typeof invalid)[number]) =>
    isEmpty(input) ? sentenceForEmpty(input, words) : (input.dataset.fault ?? words.emailShape)
  return Object.fromEntries(invalid.map((input) => [input.name, [sentenceFor(input)]]))
}

/** Whether a required input has no value. An unchecked box is empty, and so is a text of spaces only, unless it is a password. */
const isEmpty = (input: HTMLInputElement | HTMLSelectElement) => {
  const { type, value } = input
  // A date that is only half typed has an empty value and `badInput`.
  if (input.getAttribute('aria-required') !== 'true' || input.validity.badInput) return false
  return 'checked' in input && type === 'checkbox'
    ? !input.checked
    : (type === 'password' ? value : value.trim()) === ''
}

const secondsUntil = (moment: number) => Math.max(0, Math.ceil((moment - Date.now()) / 1_000))

/** Counts down to the next allowed attempt. A screen reader reads it when asked, and not every second. */
const Countdown = ({ until, onEnd }: { until: number; onEnd: () => void }) => {
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
const SpokenWait = ({ until }: { until: number }) => {
  const words = useWords('common')
  const { locale } = useSettings()
  const [secondsLeft] = useState(() => secondsUntil(until))
  return (
    <span class="visually-hidden"> {fill(words.tryAgainInAbout, { time: timeSpan(1_000 * secondsLeft, locale) })}</span>
  )
}
