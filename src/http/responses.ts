import type { FastifyReply } from 'fastify'
import type { Issued } from '../domain/sessions/sessions.js'
import type { Started } from '../domain/sign-in/start.js'
import type { Cookies } from './cookies.js'

const send = (reply: FastifyReply, { user, accessTokenExpiresAt }: Issued) =>
  reply.send({ user, accessTokenExpiresAt: accessTokenExpiresAt.toISOString() })

export const sendSignedIn = (reply: FastifyReply, cookies: Cookies, started: Started) => {
  cookies.startSession(reply, started)
  return send(reply, started)
}

export const sendRenewed = (reply: FastifyReply, cookies: Cookies, issued: Issued) => {
  cookies.renewSession(reply, issued)
  return send(reply, issued)
}

/** A response schema with headers, by their descriptions, for the API document. */
export const withHeaders = <Schema extends object>(
  schema: Schema,
  headers: Readonly<Record<string, string>>,
): Schema => {
  const described = Object.entries(headers).map(([name, description]) => [name, { type: 'string', description }])
  return { ...schema, headers: Object.fromEntries(described) }
}
