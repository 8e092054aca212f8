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

const formulaStart = /^(?:[\t\r]|[\s\p{C}]*[=+\-@＝＋－＠])/u

/**
 * A value of the file. Users choose their names, and a browser can send any user agent, so a spreadsheet must not read such a value as
 * a formula. The pattern also finds the sign of a formula after invisible characters, and in its full-width form.
 */
const cell = (value: string | null) => {
  const text = formulaStart.test(value ?? '') ? `'${value}` : (value ?? '')
  return /[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text
}

/** The events as CSV (RFC 4180). The first line has the names of the columns. */
export const asCsv = (events: readonly AdminEvent[]) =>
  [columns, ...events.map((event) => columns.map((column) => cell(event[column])))]
    .map((cells) => `${cells.join(',')}\r\n`)
    .join('')

export const asJsonLines = (events: readonly AdminEvent[]) =>
  events.map((event) => `${JSON.stringify(event)}\n`).join('')
