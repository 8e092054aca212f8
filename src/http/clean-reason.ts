import type { FastifyRequest } from 'fastify'
import { displayName } from '../domain/users/display-name.js'

/** Before a body is checked, what it gives as a reason becomes as safe to show as a name. Of invisible characters nothing is left. */
export const cleanReason = async ({ body }: FastifyRequest) => {
  if (typeof body !== 'object' || body === null || !('reason' in body) || typeof body.reason !== 'string') return
  body.reason = displayName(body.reason, Number.POSITIVE_INFINITY) ?? ''
}
