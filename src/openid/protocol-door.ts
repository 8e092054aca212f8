import type { FastifyReply, FastifyRequest } from 'fastify'
import type { Applications } from '../applications/applications.js'
import { refuse } from '../contract/outcome.js'
import { sendRefusal } from '../http/errors.js'
import type { Server } from '../http/server.js'

import type { KnownClients } from './known-clients.js'

/** The nouns of the provider; undefined while there is no application. */
type OpenidProvider<Nouns> = { open(): Promise<Nouns | undefined> }

type Dependencies<Nouns> = {
  openidProvider: OpenidProvider<Nouns>
  knownClients: Pick<KnownClients, 'grant' | 'preflight'>
}

type WithApplications = { applications: Pick<Applications, 'list'> }
export type ProtocolDoor<Nouns extends WithApplications> = ReturnType<typeof createProtocolDoor<Nouns>>

/**
 * Stands in front of the handlers for programs. While there is no application, their addresses are unknown. Pages of applications in
 * browsers may read the answers.
 */
export const createProtocolDoor = <Nouns extends WithApplications>({
  openidProvider,
  knownClients,
}: Dependencies<Nouns>) => {
  type Handler = (nouns: Nouns, request: FastifyRequest, reply: FastifyReply) => Promise<unknown>

  const answerWith = (handler: Handler) => async (request: FastifyRequest, reply: FastifyReply) => {
    const nouns = await openidProvider.open()
    return nouns ? handler(nouns, request, reply) : sendRefusal(reply, refuse('not_found'))
  }

  /** Runs with every answer, so that a page may also read a refusal from before the handler, such as for a body that is too large. */
  const grant = async (request: FastifyRequest, reply: FastifyReply) => {
    const nouns = await openidProvider.open().catch(() => undefined)
    if (nouns) await knownClients.grant(nouns, request, reply)
  }

  return {
    /** The hook and the handler of a route. */
    through: (handler: Handler) => ({ onSend: [grant], handler: answerWith(handler) }),
    /** Answers the preflight that a browser sends before a request of another site's page. */
    answerPreflights: (server: Server, url: string) =>
      server.route({
        method: 'OPTIONS',
        url,
        schema: { hide: true },
        config: { unlimited: 'Sent from memory' },
        handler: answerWith(async (nouns, request, reply) => {
          if (await knownClients.grant(nouns, request, reply)) reply.headers(knownClients.preflight)
          return reply.status(204).send()
        }),
      }),
  }
}
