import type { FastifyRequest } from 'fastify'
import { Type } from 'typebox'
import { isLanguage } from '../contract/languages.js'
import { refuse } from '../contract/outcome.js'
import { languageSwitch, type PageName } from '../contract/pages.js'
import type { Cookies } from '../http/cookies.js'
import { routeRefusals } from '../http/route.js'
import type { Server } from '../http/server.js'

import type { Assets } from './assets.js'

const { sendRefusal } = routeRefusals('not_found')

const query = Type.Object({
  to: Type.String({ maxLength: 10 }),
  page: Type.Optional(Type.String({ maxLength: 40 })),
})

/**
 * The address of our page that sent the request; `unknown` if our page does not say its address. Undefined for a page of another site,
 * which must not change the visitor's choice.
 */
const askingPage = ({ headers }: FastifyRequest) => {
  const { referer = '', host, 'sec-fetch-site': site } = headers
  const url = URL.canParse(referer) ? new URL(referer) : undefined
  if (site === 'same-origin') return url ?? 'unknown'
  return site === undefined && url?.host === host ? url : undefined
}

/** A path of our own: `//other.example` would be another site. */
const pathOf = ({ pathname, search }: URL) => pathname.replace(/^\/+/, '/') + search

/**
 * The switch in the footer. A page with its script asks for its words in the other language (`page`), and keeps all that is typed and
 * open. Before the script has come, and on pages without one, a form leads here, and the answer redirects back to the page.
 */
export const languageRoutes = (server: Server, { assets, cookies }: { assets: Assets; cookies: Cookies }) => {
  const isPage = (name: string): name is PageName => Object.hasOwn(assets.pages, name)

  server.get(
    languageSwitch,
    { schema: { hide: true, querystring: query }, config: { unlimited: 'Sent from memory' } },
    (request, reply) => {
      const { to, page } = request.query
      const from = askingPage(request)
      if (!isLanguage(to) || (page !== undefined && !isPage(page))) return sendRefusal(reply, refuse('not_found'))
      if (from !== undefined) cookies.set(reply, 'latchkey_language', to)
      reply.header('cache-control', 'no-store')
      if (page === undefined) return reply.redirect(from instanceof URL ? pathOf(from) : '/', 303)
      const { title, footer, sections } = assets.pages[page].words[to]
      return reply.send({ language: to, title, footer, words: sections })
    },
  )
}
