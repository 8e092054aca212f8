import { labelIn } from '../../contract/field-labels.js'
import type { ProfileFieldDefinition } from '../../contract/profile-fields.js'

const typeOf = ({ type, options = [] }: ProfileFieldDefinition) => {
  if (type === 'boolean') return 'boolean'
  return type === 'choice' ? options.map(({ value }) => JSON.stringify(value)).join(' | ') : 'string'
}

/** A comment must not end before its line does. */
const commentOf = ({ labels, key, editedBy }: ProfileFieldDefinition) =>
  `/** ${labelIn(labels, 'en', key).replaceAll('*/', '* /')}${editedBy === 'user' ? '' : '. Edited by administrators'} */`

type Member = (definition: ProfileFieldDefinition) => string

const value: Member = (each) => `${each.key}?: ${typeOf(each)}`
/** A required field can be changed, and not removed. */
const change: Member = (each) => `${value(each)}${each.required ? '' : ' | null'}`
/** Only users are held to what is required. */
const operatorChange: Member = (each) => `${value(each)} | null`
const registered: Member = (each) =>
  each.required && each.registration ? `${each.key}: ${typeOf(each)}` : change(each)

const typeWith = (name: string, comment: string, member: Member, definitions: readonly ProfileFieldDefinition[]) => [
  '',
  `/** ${comment} */`,
  `export type ${name} = {`,
  ...definitions.flatMap((each) => [`  ${commentOf(each)}`, `  ${member(each)}`]),
  '}',
]

/** The types of `fields`, as TypeScript: where they are read, in a registration, and in a change of the account. */
export const fieldTypesOf = (definitions: readonly ProfileFieldDefinition[]) => {
  const userFields = definitions.filter(({ editedBy }) => editedBy === 'user')
  const read = '`fields` of an account, a webhook, the service API and the claim. Every value can be missing.'
  return [
    '// Made by `latchkey fields types` from PROFILE_FIELDS_FILE: do not edit.',
    ...typeWith('ProfileFields', read, value, definitions),
    ...typeWith('RegistrationFields', '`fields` of a registration.', registered, userFields),
    ...typeWith(
      'ProfileFieldChanges',
      '`fields` of a change of the account; null removes a value.',
      change,
      userFields,
    ),
    ...typeWith('OperatorFieldChanges', '`fields` of a change by the service API.', operatorChange, definitions),
  ].join('\n')
}
