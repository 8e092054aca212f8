import type { FastifyReply, FastifyRequest } from 'fastify'
import type { Application } from '../applications/applications.js'
import { type Form, formOf } from '../http/forms.js'
import type { LimiterName } from '../http/limiters.js'
import type { Server } from '../http/server.js'

import type { ClientAuthentication, ClientNouns } from './client-authentication.js'
import type { ProtocolDoor } from './protocol-door.js'

export type ClientRouteParts<Nouns extends ClientNouns> = {
  protocolDoor: ProtocolDoor<Nouns>
  clientAuthentication: ClientAuthentication
  /** Called for a request whose client was refused, with the status of the answer. */
  onClientRefused?: (form: Form, status: number) => void
  /** Further limiters in which the handler counts. */
  countsIn?: readonly LimiterName[]
}

/** The request of a client that has authenticated. */
export type ClientRequest = { application: Application; form: Form; request: FastifyRequest; reply: FastifyReply }

/** Adds a route that takes the form of an application after the application has authenticated. */
export const addClientRoute = <Nouns extends ClientNouns>(
  server: Server,
  url: string,
  { protocolDoor, clientAuthentication, onClientRefused, countsIn = [] }: ClientRouteParts<Nouns>,
  answer: (nouns: Nouns, sent: ClientRequest) => Promise<FastifyReply>,
) => {
  protocolDoor.answerPreflights(server, url)
  const { onSend, handler } = protocolDoor.through(async (nouns, request, reply) => {
    const form = formOf(request)
    const application = await clientAuthentication.authenticate(form, nouns, request, reply)
    if (application) return answer(nouns, { application, form, request, reply })
    onClientRefused?.(form, reply.statusCode)
    return reply
  })
  server.route({
    method: 'POST',
    url,
    schema: { hide: true },
    config: { countsIn: ['client_failures', 'application', ...countsIn] },
    onSend,
    handler,
  })
}
