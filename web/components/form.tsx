import { type ComponentChildren, createContext } from 'preact'
import { useEffect, useRef, useState } from 'preact/hooks'
import { useCommonWords } from '../settings.js'
import { Button } from './button.js'
import { Countdown } from './countdown.js'
import { Notice } from './notice.js'

/** What stands in the way of a form: at its fields by name, or of the whole. `offer` is a way out of the latter. */
export type Problems = {
  fields?: Record<string, string[]>
  notice?: string
  offer?: ComponentChildren
  retryAfter?: number | undefined
}

export type Values = Record<string, string>

type Props = {
  children: ComponentChildren
  submitLabel: string
  look?: 'primary' | 'plain'
  /** Returns what stood in the way, or nothing when all is done. */
  onSubmit: (values: Values) => Promise<Problems | undefined>
}

type Context = {
  problems: Problems
  submissions: number
  /** What was said about a field is about its old value: it goes when the value changes. */
  onEdit: (field: string) => void
}

export const FormContext = createContext<Context>({ problems: {}, submissions: 0, onEdit: () => undefined })

/** One step, one form: checks, sends, shows what went wrong where it went wrong, and puts the focus there. */
export const Form = ({ children, submitLabel, look = 'primary', onSubmit }: Props) => {
  const words = useCommonWords()
  const form = useRef<HTMLFormElement>(null)
  const [problems, setProblems] = useState<Problems>({})
  const [submissions, setSubmissions] = useState(0)
  const [answers, setAnswers] = useState(0)
  const [busy, setBusy] = useState(false)
  const [waited, setWaited] = useState(false)
  const waiting = problems.retryAfter !== undefined && !waited

  useEffect(() => {
    form.current?.querySelector<HTMLElement>('[aria-invalid=true]')?.focus()
  }, [answers])

  const show = (found: Problems) => {
    setProblems(found)
    setAnswers((count) => count + 1)
  }
  const submit = async () => {
    if (busy || waiting || !form.current) return
    setSubmissions(submissions + 1)
    const missing = findMissing(form.current, words)
    if (missing) return show({ fields: missing })
    setBusy(true)
    const found = await onSubmit(valuesOf(form.current))
    // Nothing in the way: another page or another step is coming, and until then there is nothing to press.
    if (!found) return
    setBusy(false)
    setWaited(false)
    show(found)
  }
  const onEdit = (field: string) => setProblems((known) => without(field, known))

  return (
    <FormContext.Provider value={{ problems, submissions, onEdit }}>
      <form
        ref={form}
        noValidate
        onSubmit={(event) => {
          event.preventDefault()
          void submit()
        }}
      >
        <WholeProblem problems={problems} onWaited={() => setWaited(true)} />
        {children}
        <Button type="submit" look={look} busy={busy} disabled={waiting}>
          {submitLabel}
        </Button>
      </form>
    </FormContext.Provider>
  )
}

const WholeProblem = ({ problems, onWaited }: { problems: Problems; onWaited: () => void }) => {
  const { notice, offer, retryAfter } = problems
  if (notice === undefined) return null
  const countdown = retryAfter !== undefined && <Countdown seconds={retryAfter} onEnd={onWaited} />
  return (
    <Notice kind="error" after={offer ?? countdown}>
      {notice}
    </Notice>
  )
}

const without = (field: string, problems: Problems): Problems => {
  if (!problems.fields?.[field]) return problems
  const { [field]: _, ...fields } = problems.fields
  return { ...problems, fields }
}

const valuesOf = (form: HTMLFormElement) =>
  Object.fromEntries([...new FormData(form)].map(([name, value]) => [name, typeof value === 'string' ? value : '']))

/** The browser knows what is missing; we say it in our own words and in the right place. */
const findMissing = (form: HTMLFormElement, words: { required: string; emailShape: string }) => {
  const inputs = [...form.elements].filter((element) => element instanceof HTMLInputElement)
  const faulty = inputs.filter((input) => isEmpty(input) || !input.validity.valid)
  if (faulty.length === 0) return undefined
  return Object.fromEntries(faulty.map((input) => [input.name, [isEmpty(input) ? words.required : words.emailShape]]))
}

/** Spaces alone are nothing, except in a password. */
const isEmpty = ({ required, type, value }: HTMLInputElement) =>
  required && (type === 'password' ? value : value.trim()) === ''
