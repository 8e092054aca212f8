import { isLanguage, languages } from '../contract/languages.js'
import {
  type FieldFaultId,
  type FieldLabels,
  type FieldType,
  type FieldValue,
  fieldTypes,
  maxFields,
  maxTotalLength,
  type ProfileFieldDefinition,
} from '../contract/profile-fields.js'
import { faultAt, type JsonObject, listAt, numberAt, objectAt, textAt } from '../lib/strict-json.js'
import { isOneLine } from '../lib/text.js'
import { displayName } from './names.js'

/** A value as it is stored, null if it was left empty, or what is wrong with it. */
export type ReadValue = { value: FieldValue | null } | { fault: FieldFaultId }
/** The first and the last day that can be today somewhere on earth. */
export type Today = { first: string; last: string }
type Read = (
  text: string,
  definition: ProfileFieldDefinition,
  today: Today | undefined,
) => FieldFaultId | { value: string }

const characterCount = (text: string) => Array.from(text).length

const lengthFault = (text: string, { minLength = 1, maxLength = Number.POSITIVE_INFINITY }: ProfileFieldDefinition) => {
  const count = characterCount(text)
  if (count < minLength) return 'too_short'
  return count > maxLength ? 'too_long' : undefined
}

/**
 * Whether the text has no control characters and none that change its direction. A value with such characters is refused, and not changed.
 */
const isShownAsWritten = (text: string) =>
  isOneLine(text) &&
  !/[\p{Zl}\p{Zp}]/u.test(text) &&
  displayName(text, Number.POSITIVE_INFINITY) === text.replaceAll(/\s+/g, ' ')

const isDay = (text: string) => {
  const day = new Date(`${text}T00:00:00Z`)
  return /^\d{4}-\d{2}-\d{2}$/.test(text) && !Number.isNaN(day.getTime()) && day.toISOString().startsWith(text)
}

const isDateBound = (text: string) => text === 'today' || isDay(text)

const isWebAddress = (text: string) => {
  const url = URL.canParse(text) ? new URL(text) : undefined
  return url !== undefined && /^https?:\/\//i.test(text) && !/\s/.test(text) && url.hostname !== '' && !url.username
}

const readers: Readonly<Record<Exclude<FieldType, 'boolean'>, Read>> = {
  text: (text, definition) => lengthFault(text, definition) ?? { value: text },
  /** A phone number as in ITU-T E.164: a plus sign, and up to 15 digits with the country first. */
  phone: (text) => {
    const number = text.replaceAll(/[\s().\-/]/g, '').replace(/^00/, '+')
    return /^\+[1-9]\d{5,14}$/.test(number) ? { value: number } : 'phone'
  },
  url: (text, definition) => lengthFault(text, definition) ?? (isWebAddress(text) ? { value: text } : 'url'),
  date: (text, { min, max }, today) => {
    if (!isDay(text)) return 'date'
    const earliest = min === 'today' ? today?.first : min
    const latest = max === 'today' ? today?.last : max
    if (earliest !== undefined && text < earliest) return 'too_early'
    return latest !== undefined && text > latest ? 'too_late' : { value: text }
  },
  choice: (text, { options = [] }) => (options.some(({ value }) => value === text) ? { value: text } : 'choice'),
}

/** Checks a value, whoever gives it. Without `today`, the bound `today` is not checked, because the value was given on another day. */
export const readFieldValue = (
  definition: ProfileFieldDefinition,
  given: unknown,
  today: Today | undefined,
): ReadValue => {
  if (given === null || given === '') return { value: null }
  if (definition.type === 'boolean') return typeof given === 'boolean' ? { value: given } : { fault: 'wrong_type' }
  if (typeof given !== 'string') return { fault: 'wrong_type' }
  const text = given.normalize('NFC').trim()
  if (text === '') return { value: null }
  if (!isShownAsWritten(text)) return { fault: 'characters' }
  const valueOrFault = readers[definition.type](text, definition, today)
  return typeof valueOrFault === 'string' ? { fault: valueOrFault } : valueOrFault
}

const oneOfAt = <const Choice extends string>(value: unknown, place: string, choices: readonly Choice[]): Choice =>
  choices.find((each) => each === value) ?? faultAt(`${place} must be ${choices.join(', ')}`)

const booleanAt = (value: unknown = false, place: string) =>
  typeof value === 'boolean' ? value : faultAt(`${place} must be true or false`)

const labelsAt = (value: unknown, place: string): FieldLabels => {
  const object = objectAt(value, place, languages)
  const labels = Object.entries(object).map(([code, text]) => [code, textAt(text, `${place}.${code}`, 80)] as const)
  return labels.length === 0
    ? faultAt(`${place} needs a text in at least one language (${languages.join(', ')})`)
    : Object.fromEntries(labels.filter(([code]) => isLanguage(code)))
}

const optionsAt = (value: unknown, place: string) => {
  const options = listAt(value, place, 100).map((each, at) => {
    const here = `${place}[${at}]`
    const object = objectAt(each, here, ['value', 'labels'])
    const storedValue = textAt(object.value, `${here}.value`, 40)
    return {
      value: storedValue,
      labels: object.labels === undefined ? { en: storedValue } : labelsAt(object.labels, `${here}.labels`),
    }
  })
  const values = options.map((option) => option.value)
  const duplicate = values.find((each, at) => values.indexOf(each) !== at)
  return duplicate === undefined ? options : faultAt(`${place} has ${JSON.stringify(duplicate)} twice`)
}

const lengthsAt = (defaultMaxLength: number) => (object: JsonObject, place: string) => {
  const maxLength =
    object.maxLength === undefined ? defaultMaxLength : numberAt(object.maxLength, `${place}.maxLength`, 1, 1_000)
  const minLength = object.minLength === undefined ? 1 : numberAt(object.minLength, `${place}.minLength`, 1, maxLength)
  return { minLength, maxLength }
}

const dayAt = (value: unknown, place: string) =>
  typeof value === 'string' && isDateBound(value)
    ? value
    : faultAt(`${place} must be a day such as 2026-01-31, or today`)

const daysAt = (object: JsonObject, place: string) => {
  const bounds = (['min', 'max'] as const)
    .filter((name) => object[name] !== undefined)
    .map((name) => [name, dayAt(object[name], `${place}.${name}`)] as const)
  const { min, max }: { min?: string; max?: string } = Object.fromEntries(bounds)
  const areDays = min !== undefined && max !== undefined && min !== 'today' && max !== 'today'
  if (areDays && min > max) faultAt(`${place}.min is later than its max`)
  return Object.fromEntries(bounds)
}

type Bounds = Pick<ProfileFieldDefinition, 'minLength' | 'maxLength' | 'min' | 'max' | 'options'>
/** The bounds that each type can have, and how many characters its values have at most. */
const types: Readonly<
  Record<
    FieldType,
    {
      keys: readonly string[]
      read: (object: JsonObject, place: string) => Bounds
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
  // `constructor` is refused because every object already has it.
  typeof value === 'string' && /^[a-z][a-z0-9]{0,23}$/.test(value) && value !== 'constructor'
    ? value
    : faultAt(`${place} must be 1 to 24 small letters and digits, beginning with a letter`)

const definitionAt = (value: unknown, at: number): ProfileFieldDefinition => {
  const place = `fields[${at}]`
  const object = objectAt(value, place, everyKey)
  const key = keyAt(object.key, `${place}.key`)
  const here = `${place} (${key})`
  const type = oneOfAt(object.type, `${here}.type`, fieldTypes)
  // The keys are checked again, now that the type is known: keys of other types are refused.
  objectAt(value, `${here}, a field of the type ${type},`, [...sharedKeys, ...types[type].keys])
  const editedBy = oneOfAt(object.editedBy === undefined ? 'user' : object.editedBy, `${here}.editedBy`, [
    'user',
    'administrators',
  ])
  const required = booleanAt(object.required, `${here}.required`)
  const registration = booleanAt(object.registration, `${here}.registration`)
  if (editedBy === 'administrators' && (required || registration))
    faultAt(
      `${here} is edited by administrators only, so users cannot be asked for it: leave out required and registration`,
    )
  const labels = labelsAt(object.labels, `${here}.labels`)
  return { key, type, labels, required, registration, editedBy, ...types[type].read(object, here) }
}

/** The definitions in the JSON of the file. An exception says what is wrong with it, and where. */
export const readFieldDefinitions = (value: unknown): readonly ProfileFieldDefinition[] => {
  const { fields } = objectAt(value, 'the file', ['fields'])
  const definitions = listAt(fields, 'fields', maxFields).map(definitionAt)
  const keys = definitions.map(({ key }) => key)
  const duplicateAt = keys.findIndex((key, at) => keys.indexOf(key) !== at)
  if (duplicateAt >= 0) faultAt(`fields[${duplicateAt}] has the key ${keys[duplicateAt]}, which another field has`)
  const totalLength = definitions.reduce((sum, each) => sum + types[each.type].longest(each), 0)
  if (totalLength > maxTotalLength)
    faultAt(
      `the texts of one user could have ${totalLength} characters together, and ${maxTotalLength} is the most: lower a maxLength`,
    )
  return definitions
}
