import type { Undo } from '../account-changes/undos.js'
import { fullShapeOf } from '../applications/application-shape.js'
import type { Application } from '../applications/applications.js'
import { canChangeBack } from '../configuration/change-back.js'
import type {
  AdminApplication,
  AdminEvent,
  AdminObstacle,
  AdminProgram,
  AdminResource,
  AdminRole,
  AdminUser,
  AdminUserDetails,
} from '../contract/admin/admin-bodies.js'
import { describeDevice } from '../contract/device-names.js'
import type { StoredEvent } from '../messages/events.js'
import { fullResourceShapeOf, guardLines, type Resource } from '../openid/resources/resource.js'
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

const detailsBody = ({ kind, details }: StoredEvent): AdminEvent['details'] => {
  if (!details) return null
  const { secret, id, before, after, ...rest } = details
  return {
    ...rest,
    ...(id !== undefined && { id }),
    ...(before && { before }),
    ...(after && { after }),
    canChangeBack: canChangeBack(kind, details),
  }
}

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
  details: detailsBody(event),
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

/** The file that owns something, or nobody. */
const setByBody = (file: string | undefined) => (file === undefined ? null : { file })

export const applicationBody = (
  application: Application,
  details: {
    version: string
    iconVersion: string | undefined
    secrets: readonly { id: string; createdAt: Date }[]
    errors: readonly SeenProblem[]
    normalEnds: readonly SeenProblem[]
  },
): AdminApplication => ({
  ...fullShapeOf(application),
  id: application.id,
  name: application.name,
  version: details.version,
  setBy: setByBody(application.setByFile),
  secretsByFile: application.secretsByFile,
  iconVersion: details.iconVersion ?? null,
  createdAt: application.createdAt.toISOString(),
  secrets: details.secrets.map(({ id, createdAt }) => ({ id, createdAt: createdAt.toISOString() })),
  errors: details.errors.map(problemBody),
  normalEnds: details.normalEnds.map(problemBody),
})

export const programBody = ({ id, name, document = '', createdAt }: Application, sessions: number): AdminProgram => ({
  id,
  name,
  document,
  host: new URL(document).host,
  sessions,
  createdAt: createdAt.toISOString(),
})

export const resourceBody = (resource: Resource, version: string, publicUrl: string): AdminResource => ({
  ...fullResourceShapeOf(resource),
  id: resource.id,
  name: resource.name,
  version,
  setBy: setByBody(resource.setByFile ?? undefined),
  createdAt: resource.createdAt.toISOString(),
  paste: guardLines(resource, publicUrl),
})
