import { type Refused, refuse } from '../../contract/outcome.js'
import type {
  FieldFaultId,
  FieldValues,
  ProfileFieldChanges,
  ProfileFieldDefinition,
} from '../../contract/profile-fields.js'
import type { Clock } from '../../lib/clock.js'
import { hours } from '../../lib/durations.js'
import { readFieldValue, type Today } from './field-values.js'

/** Everything that is stored for a user, also of fields that have left the file. */
export type StoredFields = FieldValues
export type FieldEditor = ProfileFieldDefinition['editedBy']
export type InvalidFieldsRefusal = Refused<'invalid_fields'> & { fields: { key: string; fault: FieldFaultId }[] }
/** The values that are stored afterwards, and the keys of those that have changed. */
type Changed = { fields: StoredFields; changed: readonly string[] }

/** The user's own day may be another one than ours: the zones are from 12 hours behind UTC to 14 ahead. */
const todayOf = (clock: Clock): Today => {
  const dayAt = (from: number) => new Date(clock.now().getTime() + from).toISOString().slice(0, 10)
  return { first: dayAt(-12 * hours), last: dayAt(14 * hours) }
}

const own = (values: StoredFields, key: string) => (Object.hasOwn(values, key) ? values[key] : undefined)

type Dependencies = { clock: Clock; definitions: readonly ProfileFieldDefinition[] }

/** Reads stored values by the definitions of today. */
export const createFieldLookups = ({ definitions }: Pick<Dependencies, 'definitions'>) => {
  /**
   * A value that the present file would not take counts as missing. It stays in the export of the user. One of another type, which
   * the file takes, is in the form of its new type. The bound `today` is about the day on which a value is given, and not about the
   * days after it.
   */
  const known = (stored: StoredFields): FieldValues => {
    if (definitions.length === 0) return {}
    return Object.fromEntries(
      definitions.flatMap((definition) => {
        const read = readFieldValue(definition, own(stored, definition.key) ?? null, undefined)
        return 'value' in read && read.value !== null ? [[definition.key, read.value]] : []
      }),
    )
  }

  return {
    known,
    /** The fields that users must fill in before they get a session. */
    missing: (stored: StoredFields) => {
      const values = known(stored)
      return definitions.filter(({ key, required }) => required && own(values, key) === undefined)
    },
  }
}

/** Judges new values, whoever gives them. */
export const createFieldEdits = ({ clock, definitions }: Dependencies) => {
  const read = (key: string, given: unknown, by: FieldEditor) => {
    const definition = definitions.find((each) => each.key === key)
    if (!definition) return 'unknown'
    if (by === 'user' && definition.editedBy === 'administrators') return 'administrators_only'
    // What operators enter or import may be of another day.
    const value = readFieldValue(definition, given, by === 'user' ? todayOf(clock) : undefined)
    if ('fault' in value) return value.fault
    return value.value === null && definition.required && by === 'user' ? 'required' : value
  }

  /** The values with those that were given; a refusal changes nothing. */
  const change = (
    stored: StoredFields,
    given: ProfileFieldChanges,
    by: FieldEditor,
  ): Changed | InvalidFieldsRefusal => {
    const fields = new Map(Object.entries(stored))
    const changed: string[] = []
    const faults: InvalidFieldsRefusal['fields'] = []
    for (const [key, each] of Object.entries(given)) {
      const found = read(key, each, by)
      if (typeof found === 'string') faults.push({ key, fault: found })
      else if ((fields.get(key) ?? null) !== found.value) {
        if (found.value === null) fields.delete(key)
        else fields.set(key, found.value)
        changed.push(key)
      }
    }
    return faults.length > 0
      ? refuse('invalid_fields', { fields: faults })
      : { fields: Object.fromEntries(fields), changed }
  }

  return {
    change,
    /** The fields of an account that is being created: those that its form asks for must be there. */
    begin: (given: ProfileFieldChanges = {}): StoredFields | InvalidFieldsRefusal => {
      const asked = definitions.filter(({ registration, required }) => registration && required)
      const lacking = asked.filter(({ key }) => !Object.hasOwn(given, key)).map(({ key }) => [key, null])
      const begun = change({}, { ...given, ...Object.fromEntries(lacking) }, 'user')
      return 'refused' in begun ? begun : begun.fields
    },
  }
}
