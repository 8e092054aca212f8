import { type Refused, refuse } from '../contract/outcome.js'
import type {
  FieldFaultId,
  FieldValues,
  ProfileFieldChanges,
  ProfileFieldDefinition,
} from '../contract/profile-fields.js'
import type { Clock } from '../lib/clock.js'
import { hours } from '../lib/durations.js'
import type { Database, Sql } from '../platform/database/database.js'
import { readFieldValue, type Today } from './field-definitions.js'
import * as store from './users.store.js'

/** Everything that is stored for a user, including fields that the file does not define any more. */
export type StoredFields = FieldValues
export type FieldEditor = ProfileFieldDefinition['editedBy']
export type InvalidFieldsRefusal = Refused<'invalid_fields'> & { fields: { key: string; fault: FieldFaultId }[] }
/** The values that are stored after a change, and the keys of the values that it has changed. */
type FieldChangeResult = { fields: StoredFields; changed: readonly string[] }

/** The days that can be today for the user, because time zones are from 12 hours behind UTC to 14 hours ahead. */
const todayOf = (clock: Clock): Today => {
  const dayAfter = (difference: number) => new Date(clock.now().getTime() + difference).toISOString().slice(0, 10)
  return { first: dayAfter(-12 * hours), last: dayAfter(14 * hours) }
}

const ownValue = (values: StoredFields, key: string) => (Object.hasOwn(values, key) ? values[key] : undefined)

type Definitions = readonly ProfileFieldDefinition[]

/**
 * The values that the present file accepts. Any other value counts as missing, but stays in the export of the user. If a field has got
 * another type, its value is in the form of the new type. The bound `today` is not checked again, because it is about the day on which a
 * value was given.
 */
export const knownValues = (definitions: Definitions, stored: StoredFields): FieldValues =>
  Object.fromEntries(
    definitions.flatMap((definition) => {
      const result = readFieldValue(definition, ownValue(stored, definition.key) ?? null, undefined)
      return 'value' in result && result.value !== null ? [[definition.key, result.value]] : []
    }),
  )

/** The value to store, or the fault. */
const judge = (
  definitions: Definitions,
  key: string,
  given: unknown,
  { editor, clock }: { editor: FieldEditor; clock: Clock },
) => {
  const definition = definitions.find((each) => each.key === key)
  if (!definition) return 'unknown'
  if (editor === 'user' && definition.editedBy === 'administrators') return 'administrators_only'
  // Values that operators enter or import may be from another day, so `today` is not checked.
  const result = readFieldValue(definition, given, editor === 'user' ? todayOf(clock) : undefined)
  if ('fault' in result) return result.fault
  return result.value === null && definition.required && editor === 'user' ? 'required' : result
}

const purgeBatch = 500

type Given = { database: Database; clock: Clock; definitions: Definitions }

export type ProfileFields = ReturnType<typeof createProfileFields>

/** The fields that an operator asks users for (PROFILE_FIELDS_FILE). Values are checked here only, whoever gives them. */
export const createProfileFields = ({ database, clock, definitions }: Given) => {
  /** Puts the new values among the stored ones. A refusal changes nothing. */
  const change = (
    stored: StoredFields,
    given: ProfileFieldChanges,
    editor: FieldEditor,
  ): FieldChangeResult | InvalidFieldsRefusal => {
    const fields = new Map(Object.entries(stored))
    const changed: string[] = []
    const faults: InvalidFieldsRefusal['fields'] = []
    for (const [key, each] of Object.entries(given)) {
      const valueOrFault = judge(definitions, key, each, { editor, clock })
      if (typeof valueOrFault === 'string') faults.push({ key, fault: valueOrFault })
      else if ((fields.get(key) ?? null) !== valueOrFault.value) {
        if (valueOrFault.value === null) fields.delete(key)
        else fields.set(key, valueOrFault.value)
        changed.push(key)
      }
    }
    return faults.length > 0
      ? refuse('invalid_fields', { fields: faults })
      : { fields: Object.fromEntries(fields), changed }
  }

  return {
    definitions,
    knownValues: (stored: StoredFields) => knownValues(definitions, stored),
    /** The fields that users must fill in before they get a session. */
    missing: (stored: StoredFields) => {
      const values = knownValues(definitions, stored)
      return definitions.filter(({ key, required }) => required && ownValue(values, key) === undefined)
    },
    change,
    /** The fields of a new account. Required fields that the registration form asks for must be there. */
    initialValues: (given: ProfileFieldChanges = {}): StoredFields | InvalidFieldsRefusal => {
      const requiredFields = definitions.filter(({ registration, required }) => registration && required)
      const missingFields = requiredFields.filter(({ key }) => !Object.hasOwn(given, key)).map(({ key }) => [key, null])
      const result = change({}, { ...given, ...Object.fromEntries(missingFields) }, 'user')
      return 'refused' in result ? result : result.fields
    },

    /** Stores the values. The caller holds the row of the user. */
    write: async (sql: Sql, userId: string, fields: StoredFields) => {
      await store.updateFields(sql, userId, fields)
    },

    /** How many users have a value, by key. Fields that the file does not define any more are included. */
    count: async () => (await store.countByKey(database)).map(({ key, users }) => ({ key, users })),

    /** Removes the values of a field from all users, in small transactions. Returns how many users had a value. */
    purge: async (key: string) => {
      let purgedCount = 0
      for (;;) {
        const rows = await store.removeKey(database, key, purgeBatch)
        purgedCount += rows.length
        if (rows.length < purgeBatch) return purgedCount
      }
    },
  }
}
