import { useContext, useId } from 'preact/hooks'
import { FieldMessages } from './field.js'
import { FormContext } from './form.js'

type Choice = { value: string; label: string; lang?: string }
type Props = {
  name: string
  label: string
  hint?: string
  choices: readonly Choice[]
  /** Without a default value, nothing is chosen at first, and the user must choose. */
  defaultValue?: string
  /** Whether the empty choice is refused. Without a default value it always is. */
  required?: boolean
  onChoose?: (value: string) => void
}

/** A field for one of a few values. */
export const SelectField = ({ name, label, hint, choices, defaultValue, required = false, onChoose }: Props) => {
  const id = useId()
  const { problems, onEdit } = useContext(FormContext)
  const errors = problems.fields?.[name] ?? []
  const shownHint = errors.length === 0 ? hint : undefined
  return (
    <div>
      <label for={id}>{label}</label>
      <select
        id={id}
        name={name}
        aria-required={required || defaultValue === undefined}
        aria-invalid={errors.length > 0}
        aria-describedby={`${id}-errors${shownHint === undefined ? '' : ` ${id}-hint`}`}
        onChange={({ currentTarget }) => {
          onEdit(name)
          onChoose?.(currentTarget.value)
        }}
      >
        {defaultValue === undefined && <option value="" />}
        {choices.map((choice) => (
          <option key={choice.value} value={choice.value} lang={choice.lang} selected={choice.value === defaultValue}>
            {choice.label}
          </option>
        ))}
      </select>
      <FieldMessages id={id} name={name} label={label} errors={errors} hint={shownHint} />
    </div>
  )
}
