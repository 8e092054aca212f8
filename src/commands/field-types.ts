import { labelIn, type ProfileFieldDefinition } from '../contract/profile-fields.js'

const typeScriptTypeOf = ({ type, options = [] }: ProfileFieldDefinition) => {
  if (type === 'boolean') return 'boolean'
  return type === 'choice' ? options.map(({ value }) => JSON.stringify(value)).join(' | ') : 'string'
}

// A label may have the two characters that end a comment. A space is put between them.
const commentOf = ({ labels, key, editedBy }: ProfileFieldDefinition) =>
  `/** ${labelIn(labels, 'en', key).replaceAll('*/', '* /')}${editedBy === 'user' ? '' : '. Edited by administrators'} */`

type Member = (definition: ProfileFieldDefinition) => string

const memberToRead: Member = (each) => `${each.key}?: ${typeScriptTypeOf(each)}`
/** A required field can be changed, and not removed. */
const memberToChange: Member = (each) => `${memberToRead(each)}${each.required ? '' : ' | null'}`
/** An operator may also remove the value of a required field. */
const memberForOperator: Member = (each) => `${memberToRead(each)} | null`
const memberToRegister: Member = (each) =>
  each.required && each.registration ? `${each.key}: ${typeScriptTypeOf(each)}` : memberToChange(each)

const typeWith = (name: string, comment: string, member: Member, definitions: readonly ProfileFieldDefinition[]) => [
  '',
  `/** ${comment} */`,
  `export type ${name} = {`,
  ...definitions.flatMap((each) => [`  ${commentOf(each)}`, `  ${member(each)}`]),
  '}',
]

/** The types of `fields` in TypeScript: for reading, for a registration, and for a change by the user or by an operator. */
export const typeScriptOfFields = (definitions: readonly ProfileFieldDefinition[]) => {
  const userFields = definitions.filter(({ editedBy }) => editedBy === 'user')
  const readComment =
    '`fields` of an account, in webhooks, in the service API and as a claim of OpenID Connect. Any value can be missing.'
  return [
    '// Made by `latchkey fields types` from PROFILE_FIELDS_FILE: do not edit.',
    ...typeWith('ProfileFields', readComment, memberToRead, definitions),
    ...typeWith('RegistrationFields', '`fields` of a registration.', memberToRegister, userFields),
    ...typeWith(
      'ProfileFieldChanges',
      '`fields` of a change of the account; null removes a value.',
      memberToChange,
      userFields,
    ),
    ...typeWith('OperatorFieldChanges', '`fields` of a change by the service API.', memberForOperator, definitions),
  ].join('\n')
}
