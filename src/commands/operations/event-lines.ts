import { commandLineIp } from '../../http/request-origin.js'
import type { StoredEvent } from '../../messages/events.js'
import { printableJson, printableText } from '../terminal/printable-json.js'
import { asTable } from '../terminal/table.js'

const eventHeading = ['TIME', 'KIND', 'REASON', 'USER', 'ADDRESS', 'REQUEST']

export const eventAsObject = (event: StoredEvent) => ({
  time: event.createdAt.toISOString(),
  kind: event.kind,
  reason: event.reason,
  userId: event.userId,
  username: event.username,
  /** A keyed hash of the typed name, if the event names no user. The name itself is not stored, because it could be a password. */
  nameMark: event.nameMark,
  sessionId: event.sessionId,
  requestId: event.requestId,
  ip: event.ip,
  userAgent: event.userAgent,
  actorId: event.actorId,
  actor: event.actor,
  actorKey: event.actorKey,
  actorReason: event.actorReason,
})

export const eventAsJson = (event: StoredEvent) => printableJson(eventAsObject(event))

/**
 * The origin of an event, with who caused it: an administrator, a service key, or for a command (which has no IP address) the operator's
 * system account.
 */
const originOf = ({ ip, userAgent, actor, actorKey }: StoredEvent) => {
  const key = actorKey === null ? null : `service key ${actorKey}`
  const who = ip === commandLineIp ? userAgent : (actor ?? key)
  return who === null ? ip : `${ip} (${who})`
}

const cellsOf = (event: StoredEvent) => [
  event.createdAt.toISOString(),
  event.kind,
  event.reason ?? '',
  event.username ?? (event.nameMark === null ? '' : `unknown (${event.nameMark})`),
  originOf(event),
  event.requestId ?? '',
]

export const eventsAsTable = (events: readonly StoredEvent[]) => asTable([eventHeading, ...events.map(cellsOf)])

/** With --follow the lines come one after another, so the widths are fixed. They are enough for almost all cells. */
const widths = [24, 20, 16, 16, 15, 0]

const padCells = (cells: readonly string[]) =>
  cells
    .map((cell, column) => printableText(cell).padEnd(widths[column] ?? 0))
    .join('  ')
    .trimEnd()

export const followedHeading = padCells(eventHeading)
export const followedLine = (event: StoredEvent) => padCells(cellsOf(event))
