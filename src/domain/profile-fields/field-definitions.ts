import { isLanguage, languages } from '../../contract/languages.js'
import {
  type FieldLabels,
  type FieldType,
  fieldTypes,
  longestFields,
  maxFields,
  type ProfileFieldDefinition,
} from '../../contract/profile-fields.js'
import { faultAt, type JsonObject, listAt, numberAt, objectAt, textAt } from '../../lib/json-places.js'
import { isDateBound } from './field-values.js'

const oneOfAt = <const Choice extends string>(value: unknown, place: string, choices: readonly Choice[]): Choice =>
  choices.find((each) => each === value) ?? faultAt(`${place} must be ${choices.join(', ')}`)

const booleanAt = (value: unknown = false, place: string) =>
  typeof value === 'boolean' ? value : faultAt(`${place} must be true or false`)

const labelsAt = (value: unknown, place: string): FieldLabels => {
  const given = objectAt(value, place, languages)
  const labels = Object.entries(given).map(([code, text]) => [code, textAt(text, `${place}.${code}`, 80)] as const)
  return labels.length === 0
    ? faultAt(`${place} needs a text in at least one language (${languages.join(', ')})`)
    : Object.fromEntries(labels.filter(([code]) => isLanguage(code)))
}

const optionsAt = (value: unknown, place: string) => {
  const options = listAt(value, place, 100).map((each, at) => {
    const here = `${place}[${at}]`
    const given = objectAt(each, here, ['value', 'labels'])
    const stored = textAt(given.value, `${here}.value`, 40)
    return {
      value: stored,
      labels: given.labels === undefined ? { en: stored } : labelsAt(given.labels, `${here}.labels`),
    }
  })
  const values = options.map((option) => option.value)
  const duplicate = values.find((each, at) => values.indexOf(each) !== at)
  return duplicate === undefined ? options : faultAt(`${place} has ${JSON.stringify(duplicate)} twice`)
}

const lengthsAt = (defaultMaxLength: number) => (given: JsonObject, place: string) => {
  const maxLength =
    given.maxLength === undefined ? defaultMaxLength : numberAt(given.maxLength, `${place}.maxLength`, 1, 1_000)
  const minLength = given.minLength === undefined ? 1 : numberAt(given.minLength, `${place}.minLength`, 1, maxLength)
  return { minLength, maxLength }
}

const dayAt = (value: unknown, place: string) =>
  typeof value === 'string' && isDateBound(value)
    ? value
    : faultAt(`${place} must be a day such as 2026-01-31, or today`)

const daysAt = (given: JsonObject, place: string) => {
  const bounds = (['min', 'max'] as const)
    .filter((name) => given[name] !== undefined)
    .map((name) => [name, dayAt(given[name], `${place}.${name}`)] as const)
  const { min, max }: { min?: string; max?: string } = Object.fromEntries(bounds)
  const areDays = min !== undefined && max !== undefined && min !== 'today' && max !== 'today'
  if (areDays && min > max) faultAt(`${place}.min is later than its max`)
  return Object.fromEntries(bounds)
}

type Bounds = Pick<ProfileFieldDefinition, 'minLength' | 'maxLength' | 'min' | 'max' | 'options'>
/** The bounds of each type, and how many characters its values have at most. */
const types: Readonly<
  Record<
    FieldType,
    {
      keys: readonly string[]
      read: (given: JsonObject, place: string) => Bounds
      longest: (bounds: Bounds) => number
    }
  >
> = {
  text: { keys: ['minLength', 'maxLength'], read: lengthsAt(100), longest: ({ maxLength = 0 }) => maxLength },
  url: { keys: ['minLength', 'maxLength'], read: lengthsAt(200), longest: ({ maxLength = 0 }) => maxLength },
  phone: { keys: [], read: () => ({}), longest: () => 16 },
  date: { keys: ['min', 'max'], read: daysAt, longest: () => 10 },
  choice: {
    keys: ['options'],
    read: ({ options }, place) => ({ options: optionsAt(options, `${place}.options`) }),
    longest: ({ options = [] }) => Math.max(...options.map(({ value }) => value.length)),
  },
  boolean: { keys: [], read: () => ({}), longest: () => 5 },
}

const sharedKeys = ['key', 'type', 'labels', 'required', 'registration', 'editedBy'] as const
const everyKey = [...new Set([...sharedKeys, ...Object.values(types).flatMap(({ keys }) => keys)])]

const keyAt = (value: unknown, place: string) =>
  // Every object has a `constructor` already.
  typeof value === 'string' && /^[a-z][a-z0-9]{0,23}$/.test(value) && value !== 'constructor'
    ? value
    : faultAt(`${place} must be 1 to 24 small letters and digits, beginning with a letter`)

const definitionAt = (value: unknown, at: number): ProfileFieldDefinition => {
  const place = `fields[${at}]`
  const given = objectAt(value, place, everyKey)
  const key = keyAt(given.key, `${place}.key`)
  const here = `${place} (${key})`
  const type = oneOfAt(given.type, `${here}.type`, fieldTypes)
  // Again, now that the type is known: no keys of other types.
  objectAt(value, `${here}, a field of the type ${type},`, [...sharedKeys, ...types[type].keys])
  const editedBy = oneOfAt(given.editedBy === undefined ? 'user' : given.editedBy, `${here}.editedBy`, [
    'user',
    'administrators',
  ])
  const required = booleanAt(given.required, `${here}.required`)
  const registration = booleanAt(given.registration, `${here}.registration`)
  if (editedBy === 'administrators' && (required || registration))
    faultAt(
      `${here} is edited by administrators only, so users cannot be asked for it: leave out required and registration`,
    )
  const labels = labelsAt(given.labels, `${here}.labels`)
  return { key, type, labels, required, registration, editedBy, ...types[type].read(given, here) }
}

/** The definitions in the JSON of the file, or an exception that says what is wrong with it, and where. */
export const readFieldDefinitions = (value: unknown): readonly ProfileFieldDefinition[] => {
  const { fields } = objectAt(value, 'the file', ['fields'])
  const definitions = listAt(fields, 'fields', maxFields).map(definitionAt)
  const keys = definitions.map(({ key }) => key)
  const duplicateAt = keys.findIndex((key, at) => keys.indexOf(key) !== at)
  if (duplicateAt >= 0) faultAt(`fields[${duplicateAt}] has the key ${keys[duplicateAt]}, which another field has`)
  const totalLength = definitions.reduce((sum, each) => sum + types[each.type].longest(each), 0)
  if (totalLength > longestFields)
    faultAt(
      `the texts of one user could have ${totalLength} characters together, and ${longestFields} is the most: lower a maxLength`,
    )
  return definitions
}
