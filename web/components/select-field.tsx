import { useContext, useId } from 'preact/hooks'
import { FormContext } from './form.js'

type Choice = { value: string; label: string; lang?: string }
type Props = { name: string; label: string; hint: string; choices: readonly Choice[]; defaultValue: string }

/** One of a few values. */
export const SelectField = ({ name, label, hint, choices, defaultValue }: Props) => {
  const id = useId()
  const { onEdit } = useContext(FormContext)
  return (
    <div>
      <label for={id}>{label}</label>
      <select id={id} name={name} aria-describedby={`${id}-hint`} onChange={() => onEdit(name)}>
        {choices.map((choice) => (
          <option key={choice.value} value={choice.value} lang={choice.lang} selected={choice.value === defaultValue}>
            {choice.label}
          </option>
        ))}
      </select>
      <p class="field-hint" id={`${id}-hint`}>
        {hint}
      </p>
    </div>
  )
}
