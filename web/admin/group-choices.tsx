import type { Values } from '../components/form.js'

const prefix = 'group:'

type Props = {
  label: string
  names: readonly string[]
  chosen?: readonly string[]
  onChange?: (names: string[]) => void
}

/** A checkbox for each group. */
export const GroupChoices = ({ label, names, chosen = [], onChange }: Props) => {
  const change = (name: string, isChosen: boolean) =>
    onChange?.(isChosen ? [...chosen, name] : chosen.filter((each) => each !== name))
  return (
    <fieldset>
      <legend>{label}</legend>
      {names.map((name) => (
        <label key={name} class="check">
          <input
            type="checkbox"
            name={prefix + name}
            defaultChecked={chosen.includes(name)}
            onChange={({ currentTarget }) => change(name, currentTarget.checked)}
          />
          {name}
        </label>
      ))}
    </fieldset>
  )
}

export const chosenGroups = (values: Values) =>
  Object.keys(values).flatMap((name) => (name.startsWith(prefix) ? name.slice(prefix.length) : []))
