import { useContext, useId } from 'preact/hooks'
import { FieldMessages } from '../components/field.js'
import { FormContext } from '../components/form.js'

type Props = { name: string; label: string; hint?: string; defaultValue?: readonly string[] | null }

/** A field for a list of texts, one a line. */
export const LinesField = ({ name, label, hint, defaultValue }: Props) => {
  const id = useId()
  const { problems, onEdit } = useContext(FormContext)
  const errors = problems.fields?.[name] ?? []
  const lines = defaultValue ?? []
  return (
    <div>
      <label for={id}>{label}</label>
      <textarea
        id={id}
        name={name}
        rows={Math.max(2, lines.length + 1)}
        autocomplete="off"
        autocapitalize="none"
        spellcheck={false}
        aria-invalid={errors.length > 0}
        aria-describedby={`${id}-errors${hint === undefined ? '' : ` ${id}-hint`}`}
        defaultValue={lines.join('\n')}
        onInput={() => onEdit(name)}
      />
      <FieldMessages id={id} name={name} label={label} errors={errors} hint={errors.length === 0 ? hint : undefined} />
    </div>
  )
}

/** The address of a site as people type it, also without its scheme. */
export const addressIn = (text: string | undefined) => {
  const typed = (text ?? '').trim()
  return typed === '' || typed.startsWith('/') || typed.includes('://') ? typed : `https://${typed}`
}

export const linesIn = (text: string | undefined) =>
  (text ?? '')
    .split('\n')
    .map((line) => line.trim())
    .filter(Boolean)
