import { Type } from 'typebox'
import { isLanguage } from '../../contract/languages.js'
import { refuse } from '../../contract/outcome.js'
import { isMailKind } from '../../domain/mails/mail-examples.js'
import type { MailPreview } from '../../domain/mails/mail-preview.js'
import { routeRefusals } from '../../http/route-refusals.js'
import type { Server } from '../../http/server.js'
import type { Design } from '../../lib/design.js'
import { asFramed, asPage, withFrame } from './dev-answers.js'
import { inWholeWindow } from './mailbox-page.js'
import { renderMailPreview, renderPreview } from './preview-page.js'

const { responses, sendRefusal } = routeRefusals('not_found')

type Parts = { design: Design; mailPreview: MailPreview; hasAdminPage: boolean }

/** Every page and every mail with the operator's looks and words. In development only: src/app/register-flows.ts sees to that. */
export const previewRoutes = (server: Server, { design, mailPreview, hasAdminPage }: Parts) => {
  const config = { unlimited: 'In development only' }
  const page = { hide: true, response: { 200: Type.String(), ...responses } }
  const params = Type.Object({ kind: Type.String({ maxLength: 100 }), language: Type.String({ maxLength: 10 }) })
  const ofMail = { config, schema: { ...page, params } }

  const written = ({ kind, language }: { kind: string; language: string }) =>
    isMailKind(kind) && isLanguage(language) ? { kind, language, mail: mailPreview(kind, language) } : undefined

  server.get('/dev/preview', { config, schema: page }, async (_request, reply) =>
    asPage(reply, renderPreview(design, { hasAdminPage })),
  )

  server.get('/dev/preview/mails/:kind/:language', ofMail, async (request, reply) => {
    const found = written(request.params)
    return found ? asPage(withFrame(reply), renderMailPreview(found, design)) : sendRefusal(reply, refuse('not_found'))
  })

  server.get('/dev/preview/mails/:kind/:language/html', ofMail, async (request, reply) => {
    const found = written(request.params)
    return found ? asPage(asFramed(reply), inWholeWindow(found.mail.html)) : sendRefusal(reply, refuse('not_found'))
  })
}
