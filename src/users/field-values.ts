import type { FieldFaultId, FieldType, FieldValue, ProfileFieldDefinition } from '../contract/profile-fields.js'
import { isOneLine } from '../lib/text.js'
import { displayName } from './display-name.js'

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

export const isDateBound = (text: string) => text === 'today' || isDay(text)

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
