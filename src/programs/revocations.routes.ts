import { Type } from 'typebox'
import { Revocations } from '../contract/schemas.js'
import { routeRefusals } from '../http/route.js'
import type { Server } from '../http/server.js'

import { seconds } from '../lib/durations.js'
import type { EndedSessions, EndedSince } from '../sessions/ended-sessions.js'
import type { Guards } from '../sessions/guards.js'

import { serviceRefusals } from './service-callers.js'

const { responses } = routeRefusals(...serviceRefusals)

const maxWaitSeconds = 25
const schema = {
  tags: ['for other programs'],
  summary: 'Sessions whose access tokens are refused before they expire, for programs that check tokens themselves',
  querystring: Type.Object({
    after: Type.Optional(Type.String({ maxLength: 4_096, description: 'The cursor of the answer before' })),
    wait: Type.Optional(
      Type.String({
        pattern: '^(?:1?\\d|2[0-5])$',
        description: `How many seconds the answer waits if there is no news, 0 to ${maxWaitSeconds}`,
      }),
    ),
  }),
  response: { 200: Revocations, ...responses },
}

/** How long one wait lasts before it checks whether the client still waits. */
const waitSlice = 1 * seconds

/** The answer in the form that verifiers read. Those of earlier releases know `entries` only. */
const answerOf = ({ entries, users, cursor, complete }: EndedSince) => ({
  entries: entries.map(({ sid, minGeneration }) => ({ sid, below: minGeneration })),
  ...(users.length > 0 && { users }),
  cursor,
  complete,
})

type Dependencies = {
  guards: Guards
  endedSessions: Pick<EndedSessions, 'since' | 'waitForNews'>
  isClosing: () => boolean
}

/** The ended sessions for verifiers in other programs. If there is no news, the answer waits for some. */
export const revocationsRoutes = (server: Server, { guards, endedSessions, isClosing }: Dependencies) => {
  const onRequest = guards.service('revocations:read')

  server.get('/api/service/revocations', { schema, onRequest }, async (request) => {
    const { after, wait = '0' } = request.query
    const deadline = performance.now() + Number(wait) * seconds
    // The wait begins before the list is read, so that a session that ends in between is not missed.
    let news = endedSessions.waitForNews(waitSlice)
    const endedSince = await endedSessions.since(after)
    const { complete, entries, users } = endedSince
    if (complete || entries.length + users.length > 0) return answerOf(endedSince)
    while (performance.now() < deadline && !isClosing() && !request.raw.socket.destroyed) {
      if (await news) return answerOf(await endedSessions.since(endedSince.cursor))
      news = endedSessions.waitForNews(Math.min(waitSlice, deadline - performance.now()))
    }
    return answerOf(wait === '0' ? endedSince : await endedSessions.since(endedSince.cursor))
  })
}
