import type { FastifyRequest } from 'fastify'
import { displayName } from '../users/names.js'

/**
 * A hook that cleans the `reason` of a body before the schema checks it, so that it is as safe to show as a name: invisible characters
 * are removed.
 */
export const cleanReason = async ({ body }: FastifyRequest) => {
  if (typeof body !== 'object' || body === null || !('reason' in body) || typeof body.reason !== 'string') return
  body.reason = displayName(body.reason, Number.POSITIVE_INFINITY) ?? ''
}
