import type { EventRow } from '../../domain/events/events.js'
import { commandLine } from '../../domain/sessions/client.js'
import { printableJson, printableText } from '../terminal/printable-json.js'
import { asTable } from '../terminal/table.js'

const eventHeading = ['TIME', 'KIND', 'REASON', 'USER', 'ADDRESS', 'REQUEST']

export const eventAsObject = (row: EventRow) => ({
  time: row.created_at.toISOString(),
  kind: row.kind,
  reason: row.reason,
  userId: row.user_id,
  username: row.username,
  nameMark: row.name_mark,
  sessionId: row.session_id,
  requestId: row.request_id,
  ip: row.ip,
  userAgent: row.user_agent,
})

export const eventAsJson = (row: EventRow) => printableJson(eventAsObject(row))

/** What a command did came from no address: the account of the operator says more. */
const originOf = ({ ip, user_agent }: EventRow) => (ip === commandLine ? `${ip} (${user_agent})` : ip)

const cellsOf = (row: EventRow) => [
  row.created_at.toISOString(),
  row.kind,
  row.reason ?? '',
  row.username ?? (row.name_mark === null ? '' : `unknown (${row.name_mark})`),
  originOf(row),
  row.request_id ?? '',
]

export const eventsAsTable = (rows: readonly EventRow[]) => asTable([eventHeading, ...rows.map(cellsOf)])

/** For lines that come one after another: wide enough for almost all cells. */
const widths = [24, 20, 16, 16, 15, 0]

const padded = (cells: readonly string[]) =>
  cells
    .map((cell, column) => printableText(cell).padEnd(widths[column] ?? 0))
    .join('  ')
    .trimEnd()

export const followedHeading = padded(eventHeading)
export const followedLine = (row: EventRow) => padded(cellsOf(row))
