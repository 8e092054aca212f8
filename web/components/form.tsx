import { type ComponentChildren, createContext } from 'preact'
import { useEffect, useRef, useState } from 'preact/hooks'
import { useCommonWords } from '../settings.js'
import { Button } from './button.js'
import { Countdown } from './countdown.js'
import { Notice } from './notice.js'

/** What stands in the way of a form: at its fields by name, or of the whole. */
export type Problems = { fields?: Record<string, string[]>; notice?: string; retryAfter?: number | undefined }

export type Values = Record<string, string>

type Props = {
  children: ComponentChildren
  submitLabel: string
  look?: 'primary' | 'plain'
  /** Returns what stood in the way, or nothing when all is done. */
  onSubmit: (values: Values) => Promise<Problems | undefined>
}

export const FormContext = createContext<{ problems: Problems; submissions: number }>({ problems: {}, submissions: 0 })

/** One step, one form: checks, sends, shows what went wrong where it went wrong, and puts the focus there. */
export const Form = ({ children, submitLabel, look = 'primary', onSubmit }: Props) => {
  const words = useCommonWords()
  const form = useRef<HTMLFormElement>(null)
  const [problems, setProblems] = useState<Problems>({})
  const [submissions, setSubmissions] = useState(0)
  const [busy, setBusy] = useState(false)
  const [waited, setWaited] = useState(false)
  const waiting = problems.retryAfter !== undefined && !waited

  useEffect(() => {
    form.current?.querySelector<HTMLElement>('[aria-invalid=true]')?.focus()
  }, [problems])

  const submit = async () => {
    if (busy || waiting || !form.current) return
    setSubmissions(submissions + 1)
    const missing = findMissing(form.current, words)
    if (missing) return setProblems({ fields: missing })
    setBusy(true)
    const found = await onSubmit(valuesOf(form.current))
    // Nothing in the way: another page or another step is coming, and until then there is nothing to press.
    if (!found) return
    setBusy(false)
    setWaited(false)
    setProblems(found)
  }

  return (
    <FormContext.Provider value={{ problems, submissions }}>
      <form
        ref={form}
        noValidate
        onSubmit={(event) => {
          event.preventDefault()
          void submit()
        }}
      >
        {problems.notice !== undefined && (
          <Notice
            kind="error"
            after={
              problems.retryAfter !== undefined && (
                <Countdown seconds={problems.retryAfter} onEnd={() => setWaited(true)} />
              )
            }
          >
            {problems.notice}
          </Notice>
        )}
        {children}
        <Button type="submit" look={look} busy={busy} disabled={waiting}>
          {submitLabel}
        </Button>
      </form>
    </FormContext.Provider>
  )
}

const valuesOf = (form: HTMLFormElement) =>
  Object.fromEntries([...new FormData(form)].map(([name, value]) => [name, typeof value === 'string' ? value : '']))

/** The browser knows what is missing; we say it in our own words and in the right place. */
const findMissing = (form: HTMLFormElement, words: { required: string; emailShape: string }) => {
  const faulty = [...form.elements].filter((element) => element instanceof HTMLInputElement && !element.validity.valid)
  if (faulty.length === 0) return undefined
  const named = faulty as HTMLInputElement[]
  return Object.fromEntries(
    named.map(({ name, validity }) => [name, [validity.valueMissing ? words.required : words.emailShape]]),
  )
}
