import type { FastifyReply, FastifyRequest } from 'fastify'
import { refuse } from '../contract/outcome.js'
import { sendRefusal } from './errors.js'

type RouteSchema = { readonly body?: unknown; readonly querystring?: unknown }

/** The longest part of an unknown name that the message repeats. */
const longestName = 64

const knownNames = (schema: unknown) => Object.keys((schema as { properties?: object } | undefined)?.properties ?? {})

/** The message about the first name that the schema does not have; undefined if it has all of them. */
const unknownName = (place: 'body' | 'query', given: unknown, schema: unknown) => {
  if (typeof given !== 'object' || given === null || Array.isArray(given)) return undefined
  const known = knownNames(schema)
  const unknown = Object.keys(given).find((name) => !known.includes(name))
  if (unknown === undefined) return undefined
  const taken = known.length > 0 ? `it takes ${known.join(', ')}` : 'it takes nothing'
  return `${unknown.slice(0, longestName)} is not known in the ${place} of this request: ${taken}`
}

/**
 * Refuses what a request of a program with a service key does not take. A change that was misspelt and answered with success would be
 * believed. Other requests come from pages, for which unknown properties are removed (docs/decisions.md).
 */
export const refuseUnknownProperties = async (request: FastifyRequest, reply: FastifyReply) => {
  if (!request.serviceKey) return undefined
  const { body, querystring }: RouteSchema = { ...request.routeOptions.schema }
  const message = unknownName('query', request.query, querystring) ?? unknownName('body', request.body, body)
  return message === undefined ? undefined : sendRefusal(reply, refuse('bad_request', { message }))
}
