import { Type } from 'typebox'
import { refuse } from '../contract/outcome.js'
import { routeRefusals } from '../http/route.js'
import type { Server } from '../http/server.js'

import type { Design } from '../lib/design.js'
import type { DevelopmentMailbox } from '../platform/mail/mail.js'
import { allowFrame, asPage, withFramedHeaders } from './dev-answers.js'
import { linksIn, renderMail, renderMailbox, withLinksInTopWindow } from './mailbox-page.js'

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

/** A page with the mails that would be sent. It needs a development mailbox, which does not exist in production. */
export const devMailboxRoutes = (
  server: Server,
  { mailbox, design }: { mailbox: DevelopmentMailbox; design: Design },
) => {
  const config = { unlimited: 'In development only' }
  const page = { hide: true, response: { 200: Type.String(), ...responses } }
  const pageOfMail = { config, schema: { ...page, params: Type.Object({ id: Type.String({ maxLength: 100 }) }) } }

  server.get('/dev/mailbox', { config, schema: page }, async (_request, reply) =>
    asPage(reply, renderMailbox(mailbox.mails(), design)),
  )

  server.get('/dev/mailbox/:id', pageOfMail, async (request, reply) => {
    const mail = mailbox.find(request.params.id)
    return mail ? asPage(allowFrame(reply), renderMail(mail, design)) : sendRefusal(reply, refuse('not_found'))
  })

  server.get('/dev/mailbox/:id/html', pageOfMail, async (request, reply) => {
    const mail = mailbox.find(request.params.id)
    return mail
      ? asPage(withFramedHeaders(reply), withLinksInTopWindow(mail.html))
      : sendRefusal(reply, refuse('not_found'))
  })

  /** The mails, newest first. `?to=` shows only those to one recipient. */
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
      const matchingMails = mailbox.mails().filter((mail) => to === undefined || mail.to.toLowerCase() === to)
      const mails = matchingMails.map((mail) => ({
        ...mail,
        links: linksIn(mail.text),
        arrivedAt: mail.arrivedAt.toISOString(),
      }))
      return reply.header('Cache-Control', 'no-store').send({ mails })
    },
  )
}
