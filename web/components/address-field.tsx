import { useContext, useState } from 'preact/hooks'
import { useWords } from '../hooks/settings.js'
import { useDebounced } from '../hooks/stable.js'
import { fill } from '../words/format.js'
import { meantAddress } from './address-slips.js'
import { Field, type FieldProps } from './field.js'
import { FormContext } from './form.js'
import { Announced } from './notice.js'

/** A slip is noticed when the typing has paused: on its way to `.com`, every address is `.co` for a moment. */
const pause = 700

type Props = Pick<FieldProps, 'maxLength'> & {
  label: string
  defaultValue?: string | undefined
  onInput?: (value: string) => void
  focused: boolean
}

/** A new email address. What looks like a slip is pointed out, and never refused. */
export const AddressField = ({ defaultValue = '', onInput, focused, ...rest }: Props) => {
  const words = useWords('common')
  const [typed, setTyped] = useState(defaultValue)
  const [acceptedEmail, setAccepted] = useState<string>()
  const settledValue = useDebounced(typed, pause)
  // An error comes before a suggestion: errors are read out in the order of the fields.
  const hasError = useContext(FormContext).problems.fields?.email !== undefined
  const suggestedEmail = settledValue === typed && !hasError ? meantAddress(typed) : undefined
  const setValue = (value: string) => {
    setTyped(value)
    onInput?.(value)
  }
  const accept = (email: string) => {
    setAccepted(email)
    setValue(email)
  }
  const suggestion = (
    <div class="field-suggestion">
      <Announced text={suggestedEmail === undefined ? '' : fill(words.didYouMean, { email: suggestedEmail })} />
      {suggestedEmail !== undefined && (
        <button type="button" class="link" onClick={() => accept(suggestedEmail)}>
          {fill(words.useSuggested, { email: suggestedEmail })}
        </button>
      )}
    </div>
  )
  return (
    // The accepted suggestion gets a new field, because an input keeps the value that was typed into it.
    <Field
      key={acceptedEmail}
      name="email"
      {...rest}
      type="email"
      autoComplete="email"
      defaultValue={acceptedEmail ?? defaultValue}
      onInput={setValue}
      focused={acceptedEmail === undefined ? focused && 'selected' : 'chosen'}
      below={suggestion}
    />
  )
}
