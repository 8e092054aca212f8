import { useContext, useId } from 'preact/hooks'
import type { Refusal } from '#client/client.js'
import { labelIn } from '#contract/languages.js'
import type { FieldValues, ProfileFieldChanges, ProfileFieldDefinition } from '#contract/profile-fields.js'
import type { TermsOfUse } from '#contract/schemas.js'
import { fieldsTypedBefore } from '../browser/storage.js'
import { useSettings, useWords } from '../hooks/settings.js'
import { Field, FieldMessages, type FieldProps, SelectField } from './field.js'
import { FormContext, type Problems, type Values } from './form.js'

/** The prefix keeps these names apart from those of other fields in the same form. */
const inputName = (key: string) => `field-${key}`

const inputs = {
  text: { type: 'text', autoComplete: 'off' },
  phone: { type: 'tel', autoComplete: 'tel' },
  url: { type: 'url', autoComplete: 'off' },
  date: { type: 'date', autoComplete: 'off' },
} as const satisfies Record<string, Pick<FieldProps, 'type' | 'autoComplete'>>

export const useFieldLabel = () => {
  const { language } = useSettings()
  return ({ labels, key }: Pick<ProfileFieldDefinition, 'labels' | 'key'>) => labelIn(labels, language, key)
}

/** The value as text. A value that looks like a link does not become one. */
export const useShownValue = () => {
  const { yes, no } = useWords('profile-fields')
  const { language } = useSettings()
  return ({ options = [] }: ProfileFieldDefinition, value: string | boolean) => {
    if (typeof value === 'boolean') return value ? yes : no
    const option = options.find((each) => each.value === value)
    return option ? labelIn(option.labels, language, value) : value
  }
}

type InputProps = { definition: ProfileFieldDefinition; value: string | boolean | undefined; focused: boolean }

const ProfileFieldInput = ({ definition, value, focused }: InputProps) => {
  const { language } = useSettings()
  const { optional, notChosen, faults } = useWords('profile-fields')
  const { key, type, required, maxLength, options = [] } = definition
  const name = inputName(key)
  const label = useFieldLabel()(definition)
  if (type === 'boolean')
    return (
      <label class="check">
        <input type="checkbox" name={name} defaultChecked={value === true} /> {label}
      </label>
    )
  const shownLabel = required ? label : `${label} ${optional}`
  const text = typeof value === 'string' ? value : ''
  if (type === 'choice') {
    const choices = options.map((option) => ({
      value: option.value,
      label: labelIn(option.labels, language, option.value),
    }))
    const empty = { value: '', label: notChosen }
    return (
      <SelectField
        name={name}
        label={shownLabel}
        choices={[empty, ...choices]}
        required={required}
        defaultValue={text}
      />
    )
  }
  const lengthLimit = maxLength === undefined ? {} : { maxLength }
  return (
    <Field
      name={name}
      label={shownLabel}
      {...inputs[type]}
      {...lengthLimit}
      required={required}
      fault={type === 'url' || type === 'date' ? faults[type] : undefined}
      defaultValue={text}
      focused={focused}
    />
  )
}

type FieldsProps = { definitions: readonly ProfileFieldDefinition[]; values?: FieldValues; focused?: boolean }

export const ProfileFieldInputs = ({ definitions, values = {}, focused = false }: FieldsProps) => (
  <>
    {definitions.map((definition, index) => (
      <ProfileFieldInput
        key={definition.key}
        definition={definition}
        value={Object.hasOwn(values, definition.key) ? values[definition.key] : undefined}
        focused={focused && index === 0}
      />
    ))}
  </>
)

/** The typed values in the form that the service takes. */
export const typedFields = (typed: Values, definitions: readonly ProfileFieldDefinition[]): ProfileFieldChanges =>
  Object.fromEntries(
    definitions.map(({ key, type }) => {
      const text = typed[inputName(key)]
      return [key, type === 'boolean' ? text !== undefined : (text ?? '').trim()]
    }),
  )

/**
 * The typed values that differ from the values `before`. A box that was never answered and is still empty is not sent. A stored value that
 * the operator's file no longer allows is missing in `before`, and stays stored.
 */
export const changedFields = (
  typed: Values,
  definitions: readonly ProfileFieldDefinition[],
  before: FieldValues,
): ProfileFieldChanges =>
  Object.fromEntries(
    Object.entries(typedFields(typed, definitions)).filter(
      ([key, value]) => (value || undefined) !== (before[key] || undefined),
    ),
  )

/** Shows the faults at their fields; undefined for another refusal. */
export const useFieldProblems = () => {
  const { faults } = useWords('profile-fields')
  return ({ refused, fields = [] }: Refusal): Problems | undefined =>
    refused === 'invalid_fields'
      ? { fields: Object.fromEntries(fields.map(({ key, fault }) => [inputName(key), [faults[fault]]])) }
      : undefined
}

/** The questions of the operator to new users: fields, and agreement to the terms. */
export const RegistrationQuestions = () => {
  const { registrationFields, terms } = useSettings()
  return (
    <>
      <ProfileFieldInputs definitions={registrationFields} values={fieldsTypedBefore()} />
      {terms && <TermsCheck terms={terms} />}
    </>
  )
}

export const useRegistrationAnswers = () => {
  const { registrationFields } = useSettings()
  return (values: Values) => ({
    ...(registrationFields.length > 0 && { fields: typedFields(values, registrationFields) }),
    ...(values.terms !== undefined && { terms: values.terms }),
  })
}

/** The box that agrees to the terms. The terms open in another tab, so what was typed stays. */
export const TermsCheck = ({ terms }: { terms: TermsOfUse }) => {
  const words = useWords('profile-fields')
  const id = useId()
  const { problems, onEdit } = useContext(FormContext)
  const errors = problems.fields?.terms ?? []
  return (
    <div>
      <label class="check">
        <input
          type="checkbox"
          name="terms"
          value={terms.version}
          aria-required
          aria-invalid={errors.length > 0}
          aria-describedby={`${id}-errors`}
          onChange={() => onEdit('terms')}
        />{' '}
        <span>
          {words.agreeBefore}{' '}
          <a href={terms.url} target="_blank" rel="noopener">
            {words.terms}
          </a>{' '}
          {words.agreeAfter}
        </span>
      </label>
      <FieldMessages id={id} name="terms" label={words.terms} errors={errors} hint={undefined} />
    </div>
  )
}
