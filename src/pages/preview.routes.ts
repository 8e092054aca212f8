import { Type } from 'typebox'
import { isLanguage, type Language } from '../contract/languages.js'
import { refuse } from '../contract/outcome.js'
import type { PageName, PageSettings } from '../contract/pages.js'
import { OneOf } from '../contract/refusal-bodies.js'
import { routeRefusals } from '../http/route.js'
import type { Server } from '../http/server.js'

import { isMailKind, type MailPreview } from '../messages/mail-preview.js'

import { allowFrame, asPage, withFramedHeaders } from './dev-answers.js'
import { withLinksInTopWindow } from './mailbox-page.js'
import { exampleScript, exampleScriptPath, isExampleName, type PageExample, pageExamples } from './page-examples.js'
import {
  inScheme,
  type Look,
  renderMailPreview,
  renderPreview,
  schemes,
  tooManyRequests,
  withExample,
} from './preview-page.js'

const { responses, sendRefusal } = routeRefusals('not_found')

type Parts = {
  look: Look
  mailPreview: MailPreview
  drawPage: (name: PageName, language: Language, overrides?: Partial<PageSettings>) => string
  drawPlainPage: (name: typeof tooManyRequests, language: Language) => string
  hasAdminPage: boolean
}

const config = { unlimited: 'In development only' }
const page = { hide: true, response: { 200: Type.String(), ...responses } }
const name = Type.String({ maxLength: 100 })
const language = Type.String({ maxLength: 10 })

/** Every page and every mail with the operator's looks and words. In development only: src/service/register-flows.ts sees to that. */
export const previewRoutes = (server: Server, { look, mailPreview, drawPage, drawPlainPage, hasAdminPage }: Parts) => {
  server.get('/dev/preview', { config, schema: page }, async (_request, reply) =>
    asPage(reply, renderPreview(look, { hasAdminPage })),
  )

  const pageOptions = { config, schema: { ...page, params: Type.Object({ name, language }) } }
  server.get('/dev/preview/pages/:name/:language', pageOptions, async ({ params }, reply) => {
    if (!isExampleName(params.name) || !isLanguage(params.language)) return sendRefusal(reply, refuse('not_found'))
    const example: PageExample = pageExamples[params.name]
    return asPage(reply, withExample(drawPage(example.page, params.language, example.settings), params.name))
  })

  const plainOptions = { config, schema: { ...page, params: Type.Object({ language }) } }
  server.get(`/dev/preview/${tooManyRequests}/:language`, plainOptions, async ({ params }, reply) =>
    isLanguage(params.language)
      ? asPage(reply, drawPlainPage(tooManyRequests, params.language))
      : sendRefusal(reply, refuse('not_found')),
  )

  const scriptOptions = { config, schema: { ...page, params: Type.Object({ name }) } }
  server.get(exampleScriptPath(':name'), scriptOptions, async ({ params }, reply) =>
    isExampleName(params.name)
      ? reply.type('text/javascript; charset=utf-8').send(exampleScript(params.name))
      : sendRefusal(reply, refuse('not_found')),
  )

  const previewOf = ({ kind, language }: { kind: string; language: string }) =>
    isMailKind(kind) && isLanguage(language) ? { kind, language, mail: mailPreview(kind, language) } : undefined
  const mailOptions = { config, schema: { ...page, params: Type.Object({ kind: name, language }) } }

  server.get('/dev/preview/mails/:kind/:language', mailOptions, async (request, reply) => {
    const preview = previewOf(request.params)
    return preview
      ? asPage(allowFrame(reply), renderMailPreview(preview, look))
      : sendRefusal(reply, refuse('not_found'))
  })

  const frameOptions = {
    config,
    schema: { ...mailOptions.schema, querystring: Type.Object({ scheme: Type.Optional(OneOf(schemes)) }) },
  }
  server.get('/dev/preview/mails/:kind/:language/html', frameOptions, async (request, reply) => {
    const preview = previewOf(request.params)
    if (!preview) return sendRefusal(reply, refuse('not_found'))
    return asPage(withFramedHeaders(reply), withLinksInTopWindow(inScheme(preview.mail.html, request.query.scheme)))
  })
}
