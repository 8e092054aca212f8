import type { FastifyRequest } from 'fastify'
import { type Static, Type } from 'typebox'
import {
  AdminEvent,
  AdminEventQuery,
  AdminEvents,
  AdminOverview,
  AdminOverviewQuery,
  AdminSelf,
  adminEventsPageSize,
  adminPath,
} from '../contract/admin/admin-bodies.js'
import { eventKinds } from '../contract/events.js'
import { isRefused, refuse } from '../contract/outcome.js'
import { Id } from '../contract/schemas.js'
import type { Server } from '../http/server.js'
import { later } from '../lib/clock.js'
import { days } from '../lib/durations.js'
import { isUuid } from '../lib/uuid.js'
import { type EventQuery, readEventOrigin } from '../messages/events.js'
import type { App } from '../service/open-http.js'
import { freeSpaceOf } from '../service/own-database.js'
import { type AdminGuard, adminRoute, type ReadingTrail } from './admin-guard.js'
import { createAttention } from './attention.js'
import { eventBody } from './bodies.js'
import type { AdminServices } from './open-admin.js'
import { createDailyCounts } from './stats.js'

const tag = 'administrators'

const eventLifetime = 90 * days
/** Events of other machines may lie in the future, because their clocks may be ahead. */
const clockTolerance = 1 * days

type Filters = { kind?: string; ip?: string; since?: string; until?: string; after?: string }

const unknownKind = refuse('bad_request', { message: 'kind must name kinds of events, with commas between them' })
const unknownOrigin = refuse('bad_request', { message: 'ip must be an address, a network or `command line`' })
/** The schema accepts a leap second (`:60`), which a Date cannot hold. */
const unknownTime = refuse('bad_request', { message: 'since and until must be times such as 2026-11-15T10:00:00Z' })
const unknownCursor = refuse('bad_request', { message: 'after must be `next` of a page' })

/** The query asks for one event more than a page has, to know whether there is another page. */
const queryFrom = ({ kind, ip, since, until, after }: Filters, now: Date) => {
  const names = kind?.split(',') ?? []
  const kinds = eventKinds.filter((each) => names.includes(each))
  if (kinds.length < names.length) return unknownKind
  const origin = ip === undefined ? {} : readEventOrigin(ip)
  if (!origin) return unknownOrigin
  if (after !== undefined && !isUuid(after)) return unknownCursor
  const start = since === undefined ? later(now, -eventLifetime) : new Date(since)
  const end = until === undefined ? later(now, clockTolerance) : new Date(until)
  if (Number.isNaN(start.getTime()) || Number.isNaN(end.getTime())) return unknownTime
  const query: EventQuery = {
    since: start,
    until: end,
    ...(kinds.length > 0 && { kinds }),
    ...origin,
    ...(after !== undefined && { beforeId: after }),
    limit: adminEventsPageSize + 1,
  }
  return query
}

const eventsRoutes = (
  server: Server,
  { clock, events, users }: App,
  adminGuard: AdminGuard,
  readingTrail: ReadingTrail,
) => {
  const findEvents = async (request: FastifyRequest, { user: name, ...filters }: Static<typeof AdminEventQuery>) => {
    const query = queryFrom(filters, clock.now())
    if (isRefused(query)) return query
    const user = name === undefined ? undefined : await users.findNamed(name)
    const foundEvents =
      name === undefined
        ? await events.between(query)
        : await events.about({ name, ...(user && { userId: user.id }) }, query)
    const page = foundEvents.slice(0, adminEventsPageSize)
    const { after: _, since: __, until: ___, ...namedFilters } = { user: name, ...filters }
    await readingTrail(request, { kind: 'events_searched', userId: user?.id, filters: namedFilters })
    const { role } = adminGuard.administratorOf(request)
    return {
      events: page.map((event) => eventBody(event, role)),
      next: foundEvents.length > page.length ? (page.at(-1)?.id ?? null) : null,
    }
  }

  adminRoute(server, `GET ${adminPath}/events`, {
    guard: adminGuard.read,
    tag,
    summary: 'The same as `POST …/events/search`; use that: logs of proxies have the URLs of requests',
    query: AdminEventQuery,
    refuses: [],
    answers: { 200: AdminEvents },
    handle: ({ request, query }) => findEvents(request, query),
  })

  adminRoute(server, `GET ${adminPath}/events/:id`, {
    guard: adminGuard.read,
    tag,
    summary: 'One event, to which a mail about a change leads',
    params: Type.Object({ id: Id }),
    refuses: [],
    answers: { 200: AdminEvent },
    handle: async ({ params: { id }, request }) => {
      const event = await events.find(id)
      if (!event) return refuse('not_found')
      await readingTrail(request, { kind: 'events_searched', filters: { id } })
      return eventBody(event, adminGuard.administratorOf(request).role)
    },
  })

  adminRoute(server, `POST ${adminPath}/events/search`, {
    guard: adminGuard.search,
    tag,
    summary: 'Events, newest first. Changes nothing',
    body: AdminEventQuery,
    refuses: [],
    answers: { 200: AdminEvents },
    handle: ({ request, body }) => findEvents(request, body),
  })
}

/** Administrators read about the service, its events and themselves. */
export const adminReportsRoutes = (
  server: Server,
  app: App & AdminServices,
  adminGuard: AdminGuard,
  readingTrail: ReadingTrail,
) => {
  const { callers, clockWatch, config } = app
  const attention = createAttention({
    ...app,
    clockOffsetSeconds: clockWatch.offset,
    freeSpace: () => freeSpaceOf(config),
    configurationFile: config.configurationFile,
  })
  const dailyCounts = createDailyCounts(app)

  adminRoute(server, `GET ${adminPath}/self`, {
    guard: adminGuard.read,
    tag,
    summary: 'Who asks, and what they may do',
    refuses: [],
    answers: { 200: AdminSelf },
    handle: async ({ request }) => {
      const { username, role, groups } = adminGuard.administratorOf(request)
      const { admin: adminGroup, support: supportGroup = null } = groups
      return { id: callers.of(request).userId, username, role, adminGroup, supportGroup }
    },
  })

  adminRoute(server, `GET ${adminPath}/overview`, {
    guard: adminGuard.read,
    tag,
    summary: 'What needs attention, and the number of sign-ins on each day',
    query: AdminOverviewQuery,
    refuses: [],
    answers: { 200: AdminOverview },
    handle: async ({ query }) => {
      const counted = await dailyCounts(query)
      if (isRefused(counted)) return counted
      const found = (await attention()).map(({ code, message, count, since, detail }) => ({
        code,
        message,
        count: count ?? null,
        since: since?.toISOString() ?? null,
        detail: detail ?? null,
      }))
      return { attention: found, ...counted }
    },
  })

  eventsRoutes(server, app, adminGuard, readingTrail)
}
