import { useContext, useId } from 'preact/hooks'
import { FieldMessages } from './field.js'
import { FormContext } from './form.js'

type Choice = { value: string; label: string; lang?: string }
type Props = { name: string; label: string; hint?: string; choices: readonly Choice[]; defaultValue: string }

/** One of a few values. */
export const SelectField = ({ name, label, hint, choices, defaultValue }: Props) => {
  const id = useId()
  const { problems, answers, onEdit } = useContext(FormContext)
  const errors = problems.fields?.[name] ?? []
  const shownHint = errors.length === 0 ? hint : undefined
  return (
    <div>
      <label for={id}>{label}</label>
      <select
        id={id}
        name={name}
        aria-invalid={errors.length > 0}
        aria-describedby={`${id}-errors${shownHint === undefined ? '' : ` ${id}-hint`}`}
        onChange={() => onEdit(name)}
      >
        {choices.map((choice) => (
          <option key={choice.value} value={choice.value} lang={choice.lang} selected={choice.value === defaultValue}>
            {choice.label}
          </option>
        ))}
      </select>
      <FieldMessages id={id} label={label} errors={errors} answers={answers} hint={shownHint} />
    </div>
  )
}
