import { isGroupList, maxGroups } from '../contract/groups.js'
import { isRefused, type Refused, refuse } from '../contract/outcome.js'
import type { FieldType, FieldValues, ProfileFieldChanges } from '../contract/profile-fields.js'
import type { ProviderId } from '../contract/providers.js'
import { refusals } from '../contract/refusals.js'
import { type BuiltInField, builtInFieldNames } from '../contract/schemas.js'
import { parseDate } from '../lib/clock.js'
import { fingerprint } from '../lib/random.js'
import { isOneLine } from '../lib/text.js'
import { isUuid, nilUuid, uuidv7 } from '../lib/uuid.js'
import { type HashForms, hashToStore } from '../passwords/hashes.js'
import type { Database } from '../platform/database/database.js'
import { builtInFieldReaders, type Reader, type StoredBuiltInFields } from './built-in-fields.js'
import { keysOfText } from './login-names.js'
import { type Email, readEmail, readUsername, usernameFromEmail } from './names.js'
import { isTakenMeanwhile } from './new-users.js'
import type { ProfileFields } from './profile-fields.js'
import type { Usernames } from './usernames.js'
import type { Identity } from './users.js'
import type { ImportedUser } from './users-bulk.store.js'
import * as store from './users-bulk.store.js'

export type { ImportedUser } from './users-bulk.store.js'

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

type ImportedFields = ProfileFields
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

type Batch = {
  added: ImportedUser[]
  /** How many users have an email that already has an account. They are skipped, so that an interrupted import can be run again. */
  existed: number
  refused: { user: ImportedUser; reason: string }[]
}

const noKeys: ReadonlySet<string> = new Set()
/** Between the check and the insert, another process may take a value. Then the remaining users are checked again. */
const maxTries = 5

const usernameTaken = 'the username belongs to a user with another email'
const emailReserved = 'the email is kept for the user who had it until a few days ago'
const idTaken = 'the id or a provider id belongs to a user with another email'

/** The values that only one user may have, each as a text. */
const keysOf = ({ id, email, username, identities }: ImportedUser) => ({
  email: `email ${email.key}`,
  username: `username ${username.key}`,
  otherKeys: [`id ${id}`, ...identities.map(({ provider, subject }) => `${provider} ${subject}`)],
})

type Given = { database: Database; usernames: Usernames }

/** The values of these users that others have. Reservations that have expired are deleted first. */
const takenFor = async ({ database, usernames }: Given, users: readonly ImportedUser[]) => {
  const identities = users.flatMap((user) => user.identities)
  const names = users.map(({ username }) => username.key)
  await usernames.release(database, names)
  await store.releaseEmails(database, users)
  const rows = await store.selectTaken(database, users)
  const reservedEmails = await store.selectReservedEmails(database, users)
  const takenIdentities = identities.length > 0 ? await store.selectTakenIdentities(database, identities) : []
  const reservedNames = await store.selectReserved(database, names)
  return new Set([
    ...reservedNames.map((row) => `username ${row.username_key}`),
    ...rows.flatMap((row) => [`email ${row.email_key}`, `username ${row.username_key}`, `id ${row.id}`]),
    ...reservedEmails.map((row) => `reserved ${row.email_key}`),
    ...takenIdentities.map(({ provider, subject }) => `${provider} ${subject}`),
  ])
}

/** Decides which of these users can be added, in the order of the file. `addedKeys`: the keys of users whom a dry run counts as added. */
const decide = async (
  given: Given,
  users: readonly ImportedUser[],
  addedKeys: { has(key: string): boolean },
): Promise<Batch> => {
  const taken = await takenFor(given, users)
  const isTaken = (key: string) => taken.has(key) || addedKeys.has(key)
  const batch: Batch = { added: [], existed: 0, refused: [] }
  for (const user of users) {
    const { email, username, otherKeys } = keysOf(user)
    if (isTaken(email)) batch.existed += 1
    else if (isTaken(`reserved ${user.email.key}`)) batch.refused.push({ user, reason: emailReserved })
    else if (isTaken(username)) batch.refused.push({ user, reason: usernameTaken })
    else if (otherKeys.some(isTaken)) batch.refused.push({ user, reason: idTaken })
    else {
      batch.added.push(user)
      for (const key of [email, username, ...otherKeys]) taken.add(key)
    }
  }
  return batch
}

/** Adds many users, whose values must differ from each other and from those of existing users. */
const createUserImport = (given: Given) => {
  const { database } = given

  /** The emails of the users that were inserted: all, fewer if a value was taken meanwhile, or none. */
  const insert = async (users: readonly ImportedUser[]) => {
    if (users.length === 0) return new Set<string>()
    try {
      const rows = await store.insertMany(database, users)
      return new Set(rows.map((row) => row.email_key))
    } catch (error) {
      if (isTakenMeanwhile(error)) return new Set<string>()
      throw error
    }
  }

  const add = async (users: readonly ImportedUser[]): Promise<Batch> => {
    const added: ImportedUser[] = []
    for (let tries = 0; tries < maxTries; tries += 1) {
      const remaining = users.filter((user) => !added.includes(user))
      const batch = await decide(given, remaining, noKeys)
      const insertedEmails = await insert(batch.added)
      const missing = batch.added.filter((user) => !insertedEmails.has(user.email.key))
      added.push(...batch.added.filter((user) => insertedEmails.has(user.email.key)))
      if (missing.length === 0) return { ...batch, added }
    }
    throw new Error('Other processes took values of imported users again and again')
  }

  /**
   * For a dry run: decides as `add` does, and remembers the users instead of inserting them. Only a digest of each value is kept, so that a
   * file of a million users fits into memory.
   */
  const createTrial = () => {
    const digests = new Set<string>()
    const digest = (key: string) => fingerprint(key).toString('latin1', 0, 16)
    return async (users: readonly ImportedUser[]): Promise<Batch> => {
      const batch = await decide(given, users, { has: (key) => digests.has(digest(key)) })
      for (const { email, username, otherKeys } of batch.added.map(keysOf))
        for (const key of [email, username, ...otherKeys]) digests.add(digest(key))
      return batch
    }
  }

  return { add, createTrial }
}

/** A user with everything that an export writes, including identities at providers that are no longer configured. */
export type ListedUser = StoredBuiltInFields & {
  id: string
  email: string
  username: string
  passwordHash: string | undefined
  /** The provider that created the account. */
  provider: string | null
  /** The user's subject at each provider. */
  identities: Readonly<Record<string, string>>
  groups: readonly string[]
  /** The values of profile fields, including fields that PROFILE_FIELDS_FILE no longer has. */
  fields: FieldValues
  createdAt: Date
  disabled: boolean
}

const fromRow = ({ password_hash, created_at, ...row }: store.ListedRow): ListedUser => ({
  ...row,
  passwordHash: password_hash ?? undefined,
  createdAt: created_at,
})

const exportPage = 1_000

/** A page of users in the order of ids. */
const pageAfter = async (database: Database, after: string | undefined, limit: number, filter: store.Filter = {}) =>
  (await store.selectPage(database, after ?? nilUuid, limit, filter)).map(fromRow)

/** Yields all users in pages, in the order of ids. */
async function* allPagesOf(database: Database) {
  let after: string | undefined
  for (;;) {
    const users = await pageAfter(database, after, exportPage)
    if (users.length === 0) return
    yield users
    after = users.at(-1)?.id
  }
}

export type BulkUsers = ReturnType<typeof createBulkUsers>

/** Handles many users at once, for the command line. No request uses it. */
export const createBulkUsers = (given: Given) => {
  const { database } = given
  return {
    ...createUserImport(given),

    page: (after: string | undefined, limit: number, filter?: store.Filter) =>
      pageAfter(database, after, limit, filter),
    search: async (text: string, limit: number) => {
      const part = { ...keysOfText(text), name: text }
      return (await store.selectMatching(database, part, limit)).map(fromRow)
    },
    allPages: () => allPagesOf(database),
    providers: async () => (await store.selectProviders(database)).map(({ provider }) => provider),
    /** How many users have something that counts as a second factor. */
    countWithSecondFactor: async () => (await store.countWithSecondFactor(database))[0]?.users ?? 0,
  }
}
