import { isGroupList, maxGroups } from '../contract/names.js'
import { isRefused, type Refused, refuse } from '../contract/outcome.js'
import type { FieldType, FieldValues, ProfileFieldChanges } from '../contract/profile-fields.js'
import type { ProviderId } from '../contract/providers.js'
import { refusals } from '../contract/refusals.js'
import { type BuiltInField, builtInFieldNames } from '../contract/schemas.js'
import { parseDate } from '../lib/clock.js'
import { isOneLine } from '../lib/text.js'

import { isUuid, uuidv7 } from '../lib/uuid.js'
import { type HashForms, hashToStore } from '../passwords/hashes.js'
import { builtInFieldReaders, type Reader, type StoredBuiltInFields } from './built-in-fields.js'
import { type Email, readEmail } from './email.js'
import type { ProfileFields } from './profile-fields.js'
import { readUsername, type Username, usernameFromEmail } from './username.js'
import type { Identity } from './users.js'

/** A user from another system, ready for the table. */
export type ImportedUser = StoredBuiltInFields & {
  id: string
  email: Email
  username: Username
  passwordHash: string | null
  /** What the operator should know about a user who is added all the same. */
  warning: string | undefined
  provider: ProviderId | null
  identities: Identity[]
  groups: readonly string[]
  fields: FieldValues
  createdAt: Date
  disabledAt: Date | null
}

/** The column with the user's identifier at a provider, in a file that is imported or exported. */
export const identityColumn = (provider: ProviderId): `${ProviderId}_id` => `${provider}_id`

/** The fields that a row may have, as the export writes them. Other spellings of a name (`passwordHash`) are accepted too. */
const importFields = [
  'id',
  'email',
  'username',
  ...builtInFieldNames,
  'password_hash',
  'password_salt',
  'provider',
  'groups',
  'created_at',
  'disabled',
] as const
/** The column of a CSV file with the values of a profile field. JSON lines have them as the object `fields`. */
export const fieldColumn = (key: string): `fields.${string}` => `fields.${key}`

export type ImportField = (typeof importFields)[number] | `${ProviderId}_id` | 'fields' | `fields.${string}`

const normalizedName = (name: string) =>
  name
    .trim()
    .toLowerCase()
    .replaceAll(/[_\s-]/g, '')
/** Makes the function that finds the field of a column by its name. */
export const importFieldFinder = (providers: readonly ProviderId[], definitions: ProfileFields['definitions']) => {
  const fieldColumns =
    definitions.length > 0 ? (['fields', ...definitions.map(({ key }) => fieldColumn(key))] as const) : []
  const fieldsByNormalizedName = new Map<string, ImportField>([
    ...[...importFields, ...providers.map(identityColumn), ...fieldColumns].map(
      (field) => [normalizedName(field), field] as const,
    ),
    // Firebase exports the salt under this name.
    ['salt', 'password_salt'],
  ])
  return (name: string) => fieldsByNormalizedName.get(normalizedName(name))
}
export type FindImportField = ReturnType<typeof importFieldFinder>

/** Whether a column holds passwords themselves. They are refused: hashing a million of them would take days. */
export const isPasswordColumn = (name: string) => normalizedName(name) === 'password'

class RowRefused extends Error {}
const refuseRow = (reason: string): never => {
  throw new RowRefused(reason)
}

const longestText = 255
/** A hash of Firebase needs this length, because it contains the project's key. */
const longestHash = 512

export type ImportRow = Partial<Record<ImportField, unknown>>

const textOf = (row: ImportRow, field: ImportField, longest = longestText): string | undefined => {
  const value = row[field]
  if (value === undefined || value === null || value === '') return undefined
  if (typeof value !== 'string') return refuseRow(`${field} must be text`)
  if (!isOneLine(value)) return refuseRow(`${field} must not contain control characters`)
  return Array.from(value).length > longest
    ? refuseRow(`${field} must have at most ${longest} characters: shorten it`)
    : value
}

const emailOf = (row: ImportRow) => {
  const read = readEmail(textOf(row, 'email') ?? refuseRow('email is missing'))
  return isRefused(read) ? refuseRow(refusals[read.refused].message) : read
}

/** A row without a username gets one from the part of the email before the at-sign. */
const usernameOf = (row: ImportRow, email: Email) => {
  const given = textOf(row, 'username')
  if (given === undefined) return usernameFromEmail(email)
  const read = readUsername(given)
  return isRefused(read) ? refuseRow(refusals[read.refused].message) : read
}

const unknownHash =
  'password_hash is of a kind that is not known: the user is added without a password, and can set one with a reset mail'
const firebaseHash =
  'password_hash is of a kind that is not known. If Firebase made it, import with --firebase-config: a later import does not change the user. Without this option, the user is added without a password, and can set one with a reset mail'

const passwordOf = (row: ImportRow, forms: HashForms): Pick<ImportedUser, 'passwordHash' | 'warning'> => {
  const text = textOf(row, 'password_hash', longestHash)
  if (text === undefined) return { passwordHash: null, warning: undefined }
  const salt = textOf(row, 'password_salt')
  const read = hashToStore(text, salt, forms)
  if ('broken' in read) return refuseRow(read.broken)
  if ('hash' in read) return { passwordHash: read.hash, warning: undefined }
  const mayBeOfFirebase = salt !== undefined && forms.firebase === undefined
  return { passwordHash: null, warning: mayBeOfFirebase ? firebaseHash : unknownHash }
}

const providerOf = (row: ImportRow, providers: readonly ProviderId[]) => {
  const text = textOf(row, 'provider')
  if (text === undefined) return null
  return providers.find((id) => id === text) ?? refuseRow(`provider must be ${providers.join(' or ')}`)
}

const identitiesOf = (row: ImportRow, providers: readonly ProviderId[]): Identity[] =>
  providers.flatMap((provider) => {
    const subject = textOf(row, identityColumn(provider))
    return subject === undefined ? [] : [{ provider, subject }]
  })

/** Reads an array of JSON, or names with commas or spaces between them. */
const groupsOf = (row: ImportRow): readonly string[] => {
  const { groups } = row
  const names = Array.isArray(groups) ? groups : (textOf(row, 'groups', 1024) ?? '').split(/[,\s]+/).filter(Boolean)
  return isGroupList(names)
    ? Array.from(new Set<string>(names)).sort()
    : refuseRow(`groups must be up to ${maxGroups} names of small letters, digits, dots, underscores and hyphens`)
}

const createdAtOf = (row: ImportRow, now: Date) => {
  const text = textOf(row, 'created_at')
  if (text === undefined) return now
  const moment = parseDate(text)
  return moment && moment.getTime() > 0 && moment <= now
    ? moment
    : refuseRow('created_at must be a date like 2026-01-31T12:00:00Z, and not in the future')
}

const disabledAtOf = (row: ImportRow, now: Date) => {
  const { disabled } = row
  if (disabled === undefined || disabled === null || disabled === '') return null
  if (disabled === true || disabled === 'true') return now
  return disabled === false || disabled === 'false' ? null : refuseRow('disabled must be true or false')
}

const builtInFieldsOf = (row: ImportRow) => {
  const readField = (field: BuiltInField) => {
    const { longest, imported }: Reader = builtInFieldReaders[field]
    const text = textOf(row, field, longest)
    const read = text === undefined ? null : imported(text)
    return typeof read === 'object' && read !== null ? refuseRow(read.broken) : read
  }
  return Object.fromEntries(builtInFieldNames.map((field) => [field, readField(field)])) as StoredBuiltInFields
}

const asObject = (value: unknown): Readonly<Record<string, unknown>> => {
  if (value === undefined || value === null || value === '') return {}
  return typeof value === 'object' && !Array.isArray(value) ? { ...value } : refuseRow('fields must be a JSON object')
}

/** The value of a cell of a CSV file. A cell is a text, even for true and false. */
const cellOf = (type: FieldType, cell: unknown) =>
  type === 'boolean' && (cell === 'true' || cell === 'false') ? cell === 'true' : cell

/** Reads profile fields. An operator can leave out fields that users must give, and the users are asked at their next sign-in. */
const fieldsOf = (row: ImportRow, { definitions, change }: ImportedFields): FieldValues => {
  const cellValues = definitions.flatMap(({ key, type }) => {
    const cell = row[fieldColumn(key)]
    return cell === undefined ? [] : [[key, cellOf(type, cell)] as const]
  })
  const given = { ...asObject(row.fields), ...Object.fromEntries(cellValues) }
  const read = change({}, given as ProfileFieldChanges, 'administrators')
  if (!isRefused(read)) return read.fields
  const [first] = read.fields
  return refuseRow(`${fieldColumn(first?.key ?? '')} cannot be used (${first?.fault})`)
}

const idOf = (row: ImportRow, now: Date) => {
  const id = textOf(row, 'id')?.toLowerCase()
  if (id === undefined) return uuidv7(now)
  return isUuid(id) ? id : refuseRow('id must be a UUID')
}

type ImportedFields = Pick<ProfileFields, 'definitions' | 'change'>
type ImportRules = { forms: HashForms; providers: readonly ProviderId[]; profileFields: ImportedFields }

export type UnusableRow = Refused<'unusable_row'> & { reason: string }

/** Reads a row. A row that breaks a rule is refused. The reason never repeats a value of the row. */
export const readImportedUser = (
  row: ImportRow,
  { forms, providers, profileFields }: ImportRules,
  now: Date,
): ImportedUser | UnusableRow => {
  try {
    const email = emailOf(row)
    return {
      id: idOf(row, now),
      email,
      username: usernameOf(row, email),
      ...builtInFieldsOf(row),
      ...passwordOf(row, forms),
      provider: providerOf(row, providers),
      identities: identitiesOf(row, providers),
      groups: groupsOf(row),
      fields: fieldsOf(row, profileFields),
      createdAt: createdAtOf(row, now),
      disabledAt: disabledAtOf(row, now),
    }
  } catch (error) {
    if (error instanceof RowRefused) return refuse('unusable_row', { reason: error.message })
    throw error
  }
}
