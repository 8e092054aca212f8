import { type ComponentChildren, createContext } from 'preact'
import { useEffect, useRef, useState } from 'preact/hooks'
import { useWords } from '../settings.js'
import { Button } from './button.js'
import { Countdown } from './countdown.js'
import { Notice } from './notice.js'

/** What is wrong: with fields, by name, or with the whole form (`notice`). `offer` is shown below the notice. */
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
  /** Returns what is wrong, or nothing when it is done. */
  onSubmit: (values: Values) => Promise<Problems | undefined>
}

type Context = {
  problems: Problems
  submissions: number
  /** Removes the messages of a field, which are about its old value. */
  onEdit: (field: string) => void
}

export const FormContext = createContext<Context>({ problems: {}, submissions: 0, onEdit: () => undefined })

/** Checks and sends, shows each problem at its field, and moves the focus to the first one. */
export const Form = ({ children, submitLabel, look = 'primary', onSubmit }: Props) => {
  const { required } = useWords('common')
  const { email_shape: emailShape } = useWords('refusals')
  const form = useRef<HTMLFormElement>(null)
  const [problems, setProblems] = useState<Problems>({})
  const [submissions, setSubmissions] = useState(0)
  const [answers, setAnswers] = useState(0)
  const [busy, setBusy] = useState(false)
  const [waited, setWaited] = useState(false)
  const waiting = problems.retryAfter !== undefined && !waited

  useEffect(() => {
    if (answers > 0) form.current?.querySelector<HTMLElement>('[aria-invalid=true]')?.focus()
  }, [answers])

  const show = (found: Problems) => {
    setProblems(found)
    setAnswers((count) => count + 1)
  }
  const submit = async () => {
    if (busy || waiting || !form.current) return
    setSubmissions(submissions + 1)
    const invalid = findInvalid(form.current, { required, emailShape })
    if (invalid) return show({ fields: invalid })
    setBusy(true)
    const found = await onSubmit(valuesOf(form.current))
    // Another page or another step follows. The button stays busy until then.
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
        <FormNotice problems={problems} onWaited={() => setWaited(true)} />
        {children}
        <Button type="submit" look={look} busy={busy} disabled={waiting}>
          {submitLabel}
        </Button>
      </form>
    </FormContext.Provider>
  )
}

const FormNotice = ({ problems, onWaited }: { problems: Problems; onWaited: () => void }) => {
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

/** The browser knows which fields are invalid. The messages are ours, and are shown at the fields. */
const findInvalid = (form: HTMLFormElement, words: { required: string; emailShape: string }) => {
  const inputs = [...form.elements].filter((element) => element instanceof HTMLInputElement)
  const invalid = inputs.filter((input) => isEmpty(input) || !input.validity.valid)
  if (invalid.length === 0) return undefined
  return Object.fromEntries(invalid.map((input) => [input.name, [isEmpty(input) ? words.required : words.emailShape]]))
}

/** Spaces alone count as empty, except in a password. */
const isEmpty = ({ required, type, value }: HTMLInputElement) =>
  required && (type === 'password' ? value : value.trim()) === ''
