import type { ProfileFieldDefinition } from '../../contract/profile-fields.js'
import { labelIn } from '../../contract/profile-fields.js'

const typeOf = ({ type, options = [] }: ProfileFieldDefinition) => {
  if (type === 'boolean') return 'boolean'
  return type === 'choice' ? options.map(({ value }) => JSON.stringify(value)).join(' | ') : 'string'
}

/** A comment must not end before its line does. */
const commentOf = ({ labels, key, editedBy }: ProfileFieldDefinition) =>
  `/** ${labelIn(labels, 'en', key).replaceAll('*/', '* /')}${editedBy === 'user' ? '' : '. Edited by administrators'} */`

/** The type of `fields` of an account, of the claim and of a webhook, as TypeScript. Every value may be missing. */
export const fieldTypesOf = (definitions: readonly ProfileFieldDefinition[]) =>
  [
    '// Made by `latchkey fields types` from PROFILE_FIELDS_FILE: do not edit.',
    'export type ProfileFields = {',
    ...definitions.flatMap((each) => [`  ${commentOf(each)}`, `  ${each.key}?: ${typeOf(each)}`]),
    '}',
  ].join('\n')
