import type { AdminEvent, AdminUser } from '#contract/admin/admin-bodies.js'

const eventColumns = [
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

const userColumns = [
  'username',
  'email',
  'name',
  'disabled',
  'lockedDown',
  'lastSignInAt',
  'factors',
  'groups',
  'createdAt',
  'id',
] as const satisfies (keyof AdminUser)[]

const formulaStart = /^(?:[\t\r]|[\s\p{C}]*[=+\-@＝＋－＠])/u

/**
 * A value of the file. Users choose their names, and a browser can send any user agent, so a spreadsheet must not read such a value as
 * a formula. The pattern also finds the sign of a formula after invisible characters, and in its full-width form.
 */
const cell = (value: string | null) => {
  const text = formulaStart.test(value ?? '') ? `'${value}` : (value ?? '')
  return /[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text
}

/** RFC 4180. The first line has the names of the columns. */
const csvOf = <Column extends string>(
  columns: readonly Column[],
  rows: readonly Readonly<Record<Column, string | boolean | readonly string[] | null>>[],
) => {
  const textOf = (value: string | boolean | readonly string[] | null) =>
    value === null || typeof value === 'string' ? value : typeof value === 'boolean' ? `${value}` : value.join(' ')
  return [columns, ...rows.map((row) => columns.map((column) => cell(textOf(row[column]))))]
    .map((cells) => `${cells.join(',')}\r\n`)
    .join('')
}

export const asCsv = (events: readonly AdminEvent[]) => csvOf(eventColumns, events)

export const usersAsCsv = (users: readonly AdminUser[]) => csvOf(userColumns, users)

export const asJsonLines = (events: readonly AdminEvent[]) =>
  events.map((event) => `${JSON.stringify(event)}\n`).join('')
