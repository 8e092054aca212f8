import { labelIn } from '../contract/languages.js'
import type { ProfileFieldDefinition } from '../contract/profile-fields.js'
import { countText } from '../lib/text.js'
import { readProfileFields } from '../service/operator-files.js'
import { loadSettings } from '../settings/config.js'
import { CommandFailure, type CommandRooms, command, commandWithoutRooms } from './command.js'
import { asTable, listOf } from './terminal/printing.js'

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
const typeScriptOfFields = (definitions: readonly ProfileFieldDefinition[]) => {
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

const noFieldsText = 'PROFILE_FIELDS_FILE is not set, and no user has a value.'

const rowsOf = async ({ profileFields }: CommandRooms) => {
  const counts = new Map((await profileFields.count()).map(({ key, users }) => [key, users]))
  const rowsInFile = profileFields.definitions.map(({ key, type, labels, required, registration, editedBy }) => ({
    key,
    type: type as string,
    label: labelIn(labels, 'en', key),
    required,
    registration,
    editedBy: editedBy as string,
    users: counts.get(key) ?? 0,
    inFile: true,
  }))
  const keysInFile = new Set(rowsInFile.map(({ key }) => key))
  const leftoverCounts = [...counts].filter(([key]) => !keysInFile.has(key))
  const leftoverRow = { type: '', label: '', required: false, registration: false, editedBy: '', inFile: false }
  return [...rowsInFile, ...leftoverCounts.map(([key, users]) => ({ key, users, ...leftoverRow }))]
}

type Row = Awaited<ReturnType<typeof rowsOf>>[number]

const fieldTable = (rows: readonly Row[]) =>
  asTable([
    ['KEY', 'TYPE', 'LABEL', 'ASKED', 'EDITED BY', 'USERS WITH A VALUE'],
    ...rows.map(({ key, type, label, required, registration, editedBy, users, inFile }) => [
      key,
      inFile ? type : 'not in the file',
      label,
      [...(registration ? ['at registration'] : []), ...(required ? ['required'] : [])].join(', '),
      editedBy,
      users.toLocaleString('en'),
    ]),
  ])

export const fieldsList = command({
  summary: 'List the profile fields, and how many users have a value',
  help: `latchkey fields list [--json]

Lists the fields of PROFILE_FIELDS_FILE, and those that have left the file while users still have values of them.`,
  json: 'one JSON object on each line: {"key", "type", "users", …}',
  run: async (rooms) => listOf(await rowsOf(rooms), { asTable: fieldTable, none: noFieldsText }),
})

export const fieldsTypes = commandWithoutRooms({
  summary: 'Write the profile fields as TypeScript types',
  help: `latchkey fields types [--json] > profile-fields.ts

Writes the types of \`fields\` from PROFILE_FIELDS_FILE: \`ProfileFields\` is what an account, a webhook, the service API and
the claim have, \`RegistrationFields\` what a registration takes, \`ProfileFieldChanges\` what a change of the account takes,
and \`OperatorFieldChanges\` what the service API takes. It opens no database.`,
  json: '{"types": text}',
  run: async ({ context }) => {
    const { profileFieldsFile: path } = loadSettings(await context.settings(), ['PROFILE_FIELDS_FILE'])
    if (path === undefined) throw new CommandFailure('PROFILE_FIELDS_FILE is not set.')
    const types = typeScriptOfFields(await readProfileFields(path))
    return { json: { types }, text: types }
  },
})

export const fieldsPurge = command({
  summary: 'Delete the values of a profile field that has left the file',
  help: `latchkey fields purge KEY [--yes] [--json]

Deletes what users have entered into the field KEY, for all of them. Take the field out of PROFILE_FIELDS_FILE and restart every
instance first. This cannot be taken back.

  --yes     needed: without it, says how many users have a value and changes nothing`,
  json: '{"key", "users"}',
  args: ['KEY'],
  options: { yes: { type: 'boolean' } },
  run: async ({ profileFields, events }, { args: [key], values, operator }) => {
    if (profileFields.definitions.some((each) => each.key === key))
      throw new CommandFailure(
        `PROFILE_FIELDS_FILE still has the field ${key}. Take it out and restart every instance first.`,
      )
    const users = (await profileFields.count()).find((each) => each.key === key)?.users ?? 0
    if (users === 0)
      throw new CommandFailure(
        `No user has a value of ${JSON.stringify(key)}. \`latchkey fields list\` names all fields. Nothing was deleted.`,
      )
    if (!values.yes)
      throw new CommandFailure(
        `${countText(users, 'user')} would lose the value of ${JSON.stringify(key)} for good. Add --yes to do it.`,
      )
    const purged = await profileFields.purge(key)
    if (purged > 0) await events.record({ kind: 'field_purged', reason: `${key}, ${purged} users` }, operator)
    return { json: { key, users: purged }, text: `Deleted the value of ${countText(purged, 'user')}.` }
  },
})
