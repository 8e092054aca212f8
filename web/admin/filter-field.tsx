import { useId } from 'preact/hooks'

type Props = {
  label: string
  hint: string
  value: string
  onInput: (value: string) => void
  maxLength: number
}

/** A field that filters a list while the user types. */
export const FilterField = ({ label, hint, value, onInput, maxLength }: Props) => {
  const id = useId()
  return (
    <div class="filter-field">
      <label for={id}>{label}</label>
      <input
        id={id}
        type="search"
        autocomplete="off"
        autocapitalize="none"
        autoCorrect="off"
        spellcheck={false}
        maxLength={maxLength}
        value={value}
        aria-describedby={`${id}-hint`}
        onInput={({ currentTarget }) => onInput(currentTarget.value)}
      />
      <p class="field-hint" id={`${id}-hint`}>
        {hint}
      </p>
    </div>
  )
}
