import type { FastifyReply } from 'fastify'
import { Type } from 'typebox'
import { refuse } from '../../contract/outcome.js'
import { routeRefusals } from '../../http/route-refusals.js'
import type { Server } from '../../http/server.js'
import type { DevelopmentMailbox } from '../../platform/mail/development.js'
import { frameSandbox, linksIn, renderMail, renderMailbox, renderPicture } from './mailbox-page.js'

const { responses, sendRefusal } = routeRefusals('not_found')

const mailSchema = Type.Object({
  id: Type.String(),
  to: Type.String(),
  from: Type.String(),
  subject: Type.String(),
  text: Type.String(),
  html: Type.String(),
  links: Type.Array(Type.String()),
  arrivedAt: Type.String(),
})

const asPage = (reply: FastifyReply, html: string) =>
  reply.header('Cache-Control', 'no-store').type('text/html; charset=utf-8').send(html)

/** The page of a mail has one frame, from this site; everything else of the policy stays. */
const withFrame = (reply: FastifyReply) => {
  const policy = String(reply.getHeader('content-security-policy'))
  return reply.header('content-security-policy', policy.replace("frame-src 'none'", "frame-src 'self'"))
}

/** Inside the frame: no script, no form, nothing loaded but images, and an origin that has none of our cookies. */
const asFramed = (reply: FastifyReply) =>
  reply.headers({
    'content-security-policy': `sandbox ${frameSandbox};default-src 'none';style-src 'unsafe-inline';img-src http: https: data:;form-action 'none';frame-ancestors 'self'`,
    'x-frame-options': 'SAMEORIGIN',
    // A mail program loads images from anywhere; this does the same without cookies.
    'cross-origin-embedder-policy': 'credentialless',
  })

/** A page with the mails that would be sent. It needs a development mailbox, which does not exist in production. */
export const devMailboxRoutes = (
  server: Server,
  { mailbox, accent }: { mailbox: DevelopmentMailbox; accent: string },
) => {
  const config = { unlimited: 'In development only' }
  const page = { hide: true, response: { 200: Type.String(), ...responses } }
  const pageOfMail = { config, schema: { ...page, params: Type.Object({ id: Type.String({ maxLength: 100 }) }) } }

  server.get('/dev/mailbox', { config, schema: page }, async (_request, reply) =>
    asPage(reply, renderMailbox(mailbox.mails(), accent)),
  )

  server.get('/dev/mailbox/:id', pageOfMail, async (request, reply) => {
    const mail = mailbox.find(request.params.id)
    return mail ? asPage(withFrame(reply), renderMail(mail, accent)) : sendRefusal(reply, refuse('not_found'))
  })

  server.get('/dev/mailbox/:id/html', pageOfMail, async (request, reply) => {
    const mail = mailbox.find(request.params.id)
    return mail ? asPage(asFramed(reply), renderPicture(mail)) : sendRefusal(reply, refuse('not_found'))
  })

  /** Newest first; `?to=` shows only one recipient. */
  server.get(
    '/dev/mailbox.json',
    {
      config,
      schema: {
        hide: true,
        querystring: Type.Object({ to: Type.Optional(Type.String()) }),
        response: { 200: Type.Object({ mails: Type.Array(mailSchema) }) },
      },
    },
    async (request, reply) => {
      const to = request.query.to?.toLowerCase()
      const wanted = mailbox.mails().filter((mail) => to === undefined || mail.to.toLowerCase() === to)
      const mails = wanted.map((mail) => ({
        ...mail,
        links: linksIn(mail.text),
        arrivedAt: mail.arrivedAt.toISOString(),
      }))
      return reply.header('Cache-Control', 'no-store').send({ mails })
    },
  )
}
