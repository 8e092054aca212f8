import type { FastifyReply } from 'fastify'
import { Type } from 'typebox'
import { answers, ErrorBody, sendAnswer } from '../../http/errors.js'
import type { Server } from '../../http/server.js'
import type { DevelopmentMailbox } from '../../platform/mail/development.js'
import { linksIn, renderMail, renderMailbox } from './mailbox-page.js'

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

/** What would be mailed, on a page. It needs a development mailbox, and none comes into being in production. */
export const devMailboxRoutes = (server: Server, { mailbox }: { mailbox: DevelopmentMailbox }) => {
  const page = { hide: true, response: { 200: Type.String(), 404: ErrorBody } }

  server.get('/dev/mailbox', { schema: page }, async (_request, reply) => asPage(reply, renderMailbox(mailbox.mails())))

  server.get(
    '/dev/mailbox/:id',
    { schema: { ...page, params: Type.Object({ id: Type.String({ maxLength: 100 }) }) } },
    async (request, reply) => {
      const mail = mailbox.find(request.params.id)
      return mail ? asPage(reply, renderMail(mail)) : sendAnswer(reply, answers.notFound)
    },
  )

  /** Newest first; `?to=` leaves only one recipient's. */
  server.get(
    '/dev/mailbox.json',
    {
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
