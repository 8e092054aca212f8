import type { FastifyReply, FastifyRequest } from 'fastify'
import { Type } from 'typebox'
import type { Language } from '../contract/languages.js'
import { refuse } from '../contract/outcome.js'
import { type PageName, type PageSettings, pageNames, type protocolPageNames } from '../contract/pages.js'
import { sessionCookies } from '../http/cookie-table.js'
import { type Cookies, chosenLanguage } from '../http/cookies.js'
import { languageOf } from '../http/request-origin.js'
import { routeRefusals } from '../http/route.js'
import type { Server } from '../http/server.js'

import type { ReturnToNotes } from '../sign-in/provider.routes.js'
import { askedLanguage } from './asked-language.js'
import type { Assets, PlainPageName } from './assets.js'
import { type Body, compress, sendCompressed } from './compressed.js'
import { languageRoutes } from './language-routes.js'
import { createRemarkedPage } from './setup-page.js'
import { plainPageStatus, renderAroundParameters, renderPage, renderPlainPage, type Theme } from './shell.js'

const { sendRefusal } = routeRefusals('not_found')

/** Pages and their files are no part of the API. */
const pageOptions = { schema: { hide: true }, config: { unlimited: 'Sent from memory' } }

type Dependencies = Omit<PageSettings, 'language' | 'productName' | 'supportUrl'> & {
  assets: Assets
  theme: Theme
  cookies: Cookies
  noteReturnTo: ReturnToNotes
  /** False if ADMIN_GROUP is empty. */
  hasAdminPage: boolean
  publicUrl: string
}

/** The files of the pages, and the client for pages of applications that have no build. */
const assetRoutes = (server: Server, assets: Assets) => {
  server.get(
    '/api/auth/assets/:name',
    { ...pageOptions, schema: { hide: true, params: Type.Object({ name: Type.String({ maxLength: 200 }) }) } },
    (request, reply) => {
      const asset = assets.files.get(request.params.name)
      if (!asset) return sendRefusal(reply, refuse('not_found'))
      addVary(reply, 'accept-encoding').header('content-type', asset.type)
      // The name has a hash of the content, so a browser never needs to ask for the file again.
      reply.header('cache-control', 'public, max-age=31536000, immutable')
      return sendCompressed(request, reply, asset)
    },
  )

  server.get('/api/auth/client.js', pageOptions, (request, reply) => {
    const { client } = assets
    addVary(reply, 'accept-encoding').header('etag', client.tag).header('cache-control', 'public, max-age=300')
    if (isNamedIn(request.headers['if-none-match'], client.tag)) return reply.status(304).send()
    return sendCompressed(request, reply.header('content-type', client.type), client)
  })
}

/** A planted cookie beside ours signs the browser out. Clearing every variant lets the user sign in again. */
const clearPlantedCookies = (cookies: Cookies, request: FastifyRequest, reply: FastifyReply) => {
  if (cookies.hasDoubledSessionCookie(request)) cookies.clearSession(reply)
}

/** Whether the request has a session cookie. Its token is not checked. */
const hasSessionCookie = (cookies: Cookies, request: FastifyRequest) =>
  sessionCookies.some((name) => cookies.read(request, name) !== undefined)

/** Pages that a signed-in user does not need. A browser with a session cookie gets no form before the session was checked. */
const pagesForSignedOut: readonly PageName[] = ['login', 'register']

/**
 * The pages contain no user data: they are the same for every visitor of a language, need no cookie to load, and call the
 * API of the same site. `plainPage` has the pages that need no script, such as the one for unknown addresses.
 */
export const pagesRoutes = (
  server: Server,
  { assets, theme, cookies, noteReturnTo, hasAdminPage, publicUrl, ...installation }: Dependencies,
) => {
  const brandSettings = { productName: theme.name, supportUrl: theme.links?.support }
  const settingsIn = (language: Language, overrides?: Partial<PageSettings>): PageSettings => ({
    ...installation,
    ...brandSettings,
    language,
    ...overrides,
  })
  const render = (name: PageName, language: Language, overrides?: Partial<PageSettings>) =>
    renderPage(name, assets.pages[name], theme, settingsIn(language, overrides))
  const cachedPage = cached((name: PageName, language) => compress(render(name, language)))
  const cachedPageForSession = cached((name: PageName, language) =>
    compress(render(name, language, { maybeSignedIn: true })),
  )
  const cachedPageForForm = cached((name: PageName, language) =>
    renderAroundParameters(name, assets.pages[name], theme, settingsIn(language)),
  )
  const drawPlainPage = (name: PlainPageName, language: Language) =>
    renderPlainPage(name, assets.plainPages[name], theme, language)
  const cachedPlainPage = cached((name: PlainPageName, language) => compress(drawPlainPage(name, language)))

  const drawWithRemarks = createRemarkedPage({ page: assets.pages.setup, theme, publicUrl, settingsIn })

  const addPage = (path: string, name: PageName) => {
    server.get(path, pageOptions, (request, reply) => {
      noteReturnTo(request)
      const language = pageLanguage(cookies, request)
      const remarkedPage = name === 'setup' ? drawWithRemarks(request, language) : undefined
      // It is neither cached nor compressed: anyone can send headers.
      if (remarkedPage !== undefined) return asFreshPage(reply).send(remarkedPage)
      if (name === 'login') clearPlantedCookies(cookies, request, reply)
      const bodyFor =
        pagesForSignedOut.includes(name) && hasSessionCookie(cookies, request) ? cachedPageForSession : cachedPage
      return sendPage(request, reply, bodyFor(name, language))
    })
    server.get(`${path}/`, pageOptions, (request, reply) => {
      const query = request.url.indexOf('?')
      const address = query === -1 ? path : path + request.url.slice(query)
      return reply.header('cache-control', 'no-store').redirect(address)
    })
  }
  for (const name of pageNames) addPage(`/${name}`, name)
  // An application on the same host may have a /dashboard of its own.
  addPage('/api/auth/account-page', 'dashboard')
  addPage('/api/auth/setup', 'setup')
  if (hasAdminPage) addPage('/api/auth/admin', 'admin')

  // The login page sends a signed-in user to AFTER_SIGN_IN. If that is `/`, a redirect from here to the login page would never end.
  const start = installation.afterSignIn === '/' ? '/dashboard' : '/login'
  server.get('/', pageOptions, (_, reply) => reply.header('cache-control', 'no-store').redirect(start))

  // Password managers send users here who want to change their password (W3C, "A Well-Known URL for Changing Passwords").
  server.get('/.well-known/change-password', pageOptions, (_, reply) =>
    reply.header('cache-control', 'no-store').redirect('/api/auth/account-page#password'),
  )

  assetRoutes(server, assets)
  languageRoutes(server, { assets, cookies })

  const plainPage = (name: PlainPageName) => (request: FastifyRequest, reply: FastifyReply) =>
    sendPage(request, reply.status(plainPageStatus[name]), cachedPlainPage(name, pageLanguage(cookies, request)))

  /**
   * A page at an address of the protocol. `posted`: the form that an application has sent, as a query. The page with a form is not
   * compressed: that would take milliseconds of the event loop, and anyone may send forms.
   */
  const protocolPage =
    (name: (typeof protocolPageNames)[number]) => (request: FastifyRequest, reply: FastifyReply, posted?: string) => {
      const language = pageLanguage(cookies, request)
      if (posted === undefined) return sendPage(request, reply, cachedPage(name, language))
      return asFreshPage(reply).send(cachedPageForForm(name, language)(posted))
    }
  return { plainPage, protocolPage, drawPage: render, drawPlainPage }
}

/** The language of the visitor: their own choice on one of our pages, else that of the application, else that of the browser. */
const pageLanguage = (cookies: Cookies, request: FastifyRequest) =>
  chosenLanguage(cookies, request) ?? askedLanguage(request) ?? languageOf(request)

/** A proxy that compresses may have made a strong tag of ours weak, or the other way round. */
const isNamedIn = (tags = '', tag: string) => {
  const namedTags = tags.split(',').map((each) => each.trim().replace(/^W\//, ''))
  return namedTags.includes('*') || namedTags.includes(tag.replace(/^W\//, ''))
}

/** Adds to the `Vary` that the answer already has, such as the origin of the page that asks. */
const addVary = (reply: FastifyReply, headers: string) =>
  reply.header('vary', [reply.getHeader('vary'), headers].filter(Boolean).join(', '))

const asFreshPage = (reply: FastifyReply) =>
  addVary(reply, 'accept-encoding, accept-language, cookie')
    .header('content-type', 'text/html; charset=utf-8')
    .header('cache-control', 'no-store')

const sendPage = (request: FastifyRequest, reply: FastifyReply, body: Body) =>
  sendCompressed(request, asFreshPage(reply), body)

/** Keeps what was made: one for each page and language. */
const cached = <Name extends string, Made>(make: (name: Name, language: Language) => Made) => {
  const cache = new Map<string, Made>()
  return (name: Name, language: Language) => {
    const key = `${name} ${language}`
    const made = cache.get(key) ?? make(name, language)
    cache.set(key, made)
    return made
  }
}
