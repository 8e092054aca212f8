import { Type } from 'typebox'
import { route } from '../http/route.js'
import type { Server } from '../http/server.js'
import { llmsText } from './llms.js'

/** In development, a program that looks at the service finds out how to set it up. */
export const llmsRoutes = (server: Server, list: () => Parameters<typeof llmsText>[0]) =>
  route(server, 'GET /llms.txt', {
    hidden: true,
    guard: [],
    refuses: [],
    answers: { 200: Type.String() },
    config: { unlimited: 'Sent from memory' },
    handle: async ({ reply }) =>
      reply
        .header('content-type', 'text/plain; charset=utf-8')
        .header('cache-control', 'no-store')
        .send(llmsText(list())),
  })
