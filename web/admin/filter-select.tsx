import { useId } from 'preact/hooks'

type Choice = { value: string; label: string }
type Props = {
  label: string
  value: string
  onChange: (value: string) => void
  choices: readonly Choice[]
  groups?: readonly { label: string; choices: readonly Choice[] }[]
}

/** A choice that filters a list. */
export const FilterSelect = ({ label, value, onChange, choices, groups = [] }: Props) => {
  const id = useId()
  const option = (choice: Choice) => (
    <option key={choice.value} value={choice.value}>
      {choice.label}
    </option>
  )
  return (
    <div class="filter-field">
      <label for={id}>{label}</label>
      <select id={id} value={value} onChange={({ currentTarget }) => onChange(currentTarget.value)}>
        {choices.map(option)}
        {groups.map((group) => (
          <optgroup key={group.label} label={group.label}>
            {group.choices.map(option)}
          </optgroup>
        ))}
      </select>
    </div>
  )
}
