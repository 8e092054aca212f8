import type { Undo } from '../account-changes/undos.js'
import type { Application } from '../applications/applications.js'
import type {
  AdminApplication,
  AdminEvent,
  AdminObstacle,
  AdminRole,
  AdminUser,
  AdminUserDetails,
} from '../contract/admin/admin-bodies.js'
import { describeDevice } from '../contract/device-names.js'
import { seconds } from '../lib/durations.js'
import { isoTime, showWith, type Views } from '../lib/views.js'
import type { StoredEvent } from '../messages/events.js'
import type { FoundUser } from '../users/search.js'
import type { Obstacle } from './obstacles.js'

export const userBody = ({ createdAt, lastSignInAt, groups, ...user }: FoundUser): AdminUser => ({
  ...user,
  createdAt: createdAt.toISOString(),
  lastSignInAt: lastSignInAt?.toISOString() ?? null,
  groups: [...groups],
})

export const obstacleBody = ({
  code,
  message,
  subject,
  until,
  since,
  count,
  detail,
  solvedBy,
}: Obstacle): AdminObstacle => ({
  code,
  message,
  subject: subject ?? null,
  until: until?.toISOString() ?? null,
  since: since?.toISOString() ?? null,
  count: count ?? null,
  detail: detail ?? null,
  solvedBy: solvedBy ?? null,
})

export const undoBody = ({ kind, email, expiresAt, isVoid }: Undo): AdminUserDetails['undos'][number] => ({
  kind,
  email,
  until: expiresAt.toISOString(),
  works: !isVoid,
})

/** The body of an event. Support does not see the reason that an administrator gave. */
export const eventBody = (event: StoredEvent, role: AdminRole): AdminEvent => ({
  id: event.id,
  kind: event.kind,
  reason: event.reason,
  userId: event.userId,
  username: event.username,
  actorId: event.actorId,
  actor: event.actor,
  actorKey: event.actorKey,
  actorReason: role === 'admin' ? event.actorReason : null,
  sessionId: event.sessionId,
  requestId: event.requestId,
  ip: event.ip,
  userAgent: event.userAgent,
  device: describeDevice(event.userAgent).device,
  createdAt: event.createdAt.toISOString(),
})

type SeenProblem = { kind: string; message: string; count: number; seenAt: Date }

const problemBody = ({ kind, message, count, seenAt }: SeenProblem) => ({
  kind,
  message,
  count,
  seenAt: seenAt.toISOString(),
})

const applicationViews = {
  id: true,
  document: (address) => address ?? null,
  name: true,
  home: true,
  kind: true,
  redirectAddresses: (addresses) => [...addresses],
  logoutAddresses: (addresses) => [...addresses],
  backchannelLogout: (address) => address ?? null,
  access: 'not shown: it is `everyone`',
  groups: (groups) => [...groups],
  factors: true,
  maxAge: (age) => (age === undefined ? null : Math.round(age / seconds)),
  consent: true,
  pkce: true,
  algorithm: true,
  deviceFlow: true,
  proxyOrigin: (origin) => origin ?? null,
  openPaths: (paths) => [...paths],
  openPreflight: true,
  tokens: true,
  createdAt: isoTime,
} as const satisfies Views<Application, AdminApplication>

export const applicationBody = (
  application: Application,
  details: {
    secrets: readonly { id: string; createdAt: Date }[]
    errors: readonly SeenProblem[]
    normalEnds: readonly SeenProblem[]
  },
): AdminApplication => ({
  ...showWith(applicationViews, application),
  everyone: application.access === 'everyone',
  secrets: details.secrets.map(({ id, createdAt }) => ({ id, createdAt: createdAt.toISOString() })),
  errors: details.errors.map(problemBody),
  normalEnds: details.normalEnds.map(problemBody),
})
