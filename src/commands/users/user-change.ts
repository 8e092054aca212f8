import { isRefused } from '../../contract/outcome.js'
import type { FieldFaultId, ProfileFieldChanges, ProfileFieldDefinition } from '../../contract/profile-fields.js'
import { type Command, CommandFailure, operator, print, readArguments, UsageFault, withNouns } from '../command.js'
import { requireUser, throwIfDeleted } from '../find-user.js'
import { printableJson, printableText } from '../terminal/printable-json.js'

const sentences: Readonly<Record<FieldFaultId, string>> = {
  unknown: 'is not in PROFILE_FIELDS_FILE',
  administrators_only: 'is edited by administrators only',
  required: 'is required',
  wrong_type: 'takes true or false',
  characters: 'has characters that cannot be shown',
  too_short: 'is too short',
  too_long: 'is too long',
  phone: 'takes a phone number with its country, such as +4930123456',
  url: 'takes an address that begins with https:// or http://',
  date: 'takes a day such as 2026-01-31',
  too_early: 'is too early',
  too_late: 'is too late',
  choice: 'takes one of the options in the file',
}

const refusalFailure = (faults: readonly { key: string; fault: FieldFaultId }[]) =>
  new CommandFailure(
    faults.map(({ key, fault }) => printableText(`The field ${JSON.stringify(key)} ${sentences[fault]}.`)).join('\n'),
  )

/** Reads the text after `=`. For a field that takes yes or no, `true` and `false` are read as booleans. */
const valueFrom = (text: string, definition: ProfileFieldDefinition | undefined) =>
  definition?.type === 'boolean' && (text === 'true' || text === 'false') ? text === 'true' : text

const changesFrom = (
  fieldTexts: readonly string[],
  definitions: readonly ProfileFieldDefinition[],
): ProfileFieldChanges =>
  Object.fromEntries(
    fieldTexts.map((text) => {
      const [key = '', ...rest] = text.split('=')
      if (key === '' || rest.length === 0) throw new UsageFault('--field takes KEY=VALUE.')
      const definition = definitions.find((each) => each.key === key)
      return [key, valueFrom(rest.join('='), definition)]
    }),
  )

export const userChange: Command = {
  summary: 'Change the profile fields of a user',
  help: `latchkey user change USER --field KEY=VALUE [--field KEY=VALUE]... [--json]

Sets fields of PROFILE_FIELDS_FILE, also those that only administrators edit. Without a value behind the =, the value is removed.
USER is a username, an email or an id.

  --field KEY=VALUE    the new value; true or false for a field that takes yes or no
  --json               one JSON object, for programs`,

  run: async (args, context) => {
    const options = { field: { type: 'string', multiple: true }, json: { type: 'boolean' } } as const
    const { positionals, values } = readArguments(args, options, ['USER'])
    const { field: fieldTexts = [] } = values
    if (fieldTexts.length === 0) throw new UsageFault('--field is needed.')
    return withNouns(context, 'service role', async (nouns) => {
      const { profileFields, fieldChanges } = nouns
      const { id, username } = await requireUser(nouns, positionals[0] ?? '')
      const changes = changesFrom(fieldTexts, profileFields.definitions)
      const outcome = await fieldChanges.byOperator({ userId: id, client: operator(context) }, changes)
      const changed = throwIfDeleted(outcome, username)
      if (isRefused(changed)) throw refusalFailure(changed.fields)
      const keys = changed.result
      const fields = profileFields.knownValues(changed.user.fields)
      const message = keys.length === 0 ? 'Nothing was changed.' : `Changed ${keys.join(', ')} of ${username}.`
      await print(context.stdout, values.json ? printableJson({ id, username, fields, changed: keys }) : message)
      return 0
    })
  },
}
