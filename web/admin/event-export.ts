import type { AdminEvent } from '#contract/admin/admin-bodies.js'

const columns = [
  'createdAt',
  'kind',
  'reason',
  'userId',
  'username',
  'actorId',
  'actor',
  'actorKey',
  'actorReason',
  'ip',
  'device',
  'userAgent',
  'sessionId',
  'requestId',
  'id',
] as const satisfies (keyof AdminEvent)[]

const formula = /^(?:[\t\r]|[\s\p{C}]*[=+\-@＝＋－＠])/u

/**
 * A value of the file. Users choose their names and browsers what they call themselves: a spreadsheet must not take such a value for
 * a formula, also behind what is not seen, or in wide letters.
 */
const cell = (value: string | null) => {
  const text = formula.test(value ?? '') ? `'${value}` : (value ?? '')
  return /[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text
}

/** RFC 4180, with the names of the columns. */
export const asCsv = (events: readonly AdminEvent[]) =>
  [columns, ...events.map((event) => columns.map((column) => cell(event[column])))]
    .map((cells) => `${cells.join(',')}\r\n`)
    .join('')

export const asJsonLines = (events: readonly AdminEvent[]) =>
  events.map((event) => `${JSON.stringify(event)}\n`).join('')
