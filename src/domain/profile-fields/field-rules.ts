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

const ownValue = (values: StoredFields, key: string) => (Object.hasOwn(values, key) ? values[key] : undefined)

type Dependencies = { clock: Clock; definitions: readonly ProfileFieldDefinition[] }

/** Reads stored values by the definitions of today. */
export const createFieldLookups = ({ definitions }: Pick<Dependencies, 'definitions'>) => {
  /**
   * The values that the present file accepts. Any other value counts as missing, and stays in the export of the user. If a field has
   * got another type, its value is in the form of the new type. The bound `today` is not checked again: it is about the day on which a
   * value is given.
   */
  const knownValues = (stored: StoredFields): FieldValues => {
    if (definitions.length === 0) return {}
    return Object.fromEntries(
      definitions.flatMap((definition) => {
        const read = readFieldValue(definition, ownValue(stored, definition.key) ?? null, undefined)
        return 'value' in read && read.value !== null ? [[definition.key, read.value]] : []
      }),
    )
  }

  return {
    knownValues,
    /** The fields that users must fill in before they get a session. */
    missing: (stored: StoredFields) => {
      const values = knownValues(stored)
      return definitions.filter(({ key, required }) => required && ownValue(values, key) === undefined)
    },
  }
}

/** Judges new values, whoever gives them. */
export const createFieldEdits = ({ clock, definitions }: Dependencies) => {
  /** The value to store, or the fault. */
  const judge = (key: string, given: unknown, by: FieldEditor) => {
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
      const judged = judge(key, each, by)
      if (typeof judged === 'string') faults.push({ key, fault: judged })
      else if ((fields.get(key) ?? null) !== judged.value) {
        if (judged.value === null) fields.delete(key)
        else fields.set(key, judged.value)
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
    initialValues: (given: ProfileFieldChanges = {}): StoredFields | InvalidFieldsRefusal => {
      const asked = definitions.filter(({ registration, required }) => registration && required)
      const lacking = asked.filter(({ key }) => !Object.hasOwn(given, key)).map(({ key }) => [key, null])
      const begun = change({}, { ...given, ...Object.fromEntries(lacking) }, 'user')
      return 'refused' in begun ? begun : begun.fields
    },
  }
}
