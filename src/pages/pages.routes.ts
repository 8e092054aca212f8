import type { FastifyReply, FastifyRequest } from 'fastify'
import ipaddr from 'ipaddr.js'
import { Type } from 'typebox'
import { isLanguage, type Language, languageAmong } from '../contract/languages.js'
import { refuse } from '../contract/outcome.js'
import {
  languageSwitch,
  type PageName,
  type PageSettings,
  pageNames,
  type protocolPageNames,
} from '../contract/pages.js'
import { sessionCookies } from '../http/cookie-table.js'
import { type Cookies, chosenLanguage } from '../http/cookies.js'
import { languageOf } from '../http/request-origin.js'
import { route } from '../http/route.js'
import type { Server } from '../http/server.js'
import { escapeHtml } from '../lib/text.js'
import type { ReturnToNotes } from '../sign-in/return-to-notes.js'
import { type Assets, type Body, compress, type Page, type PlainPageName, sendCompressed } from './assets.js'
import {
  plainPageStatus,
  renderAroundParameters,
  renderContent,
  renderHostPage,
  renderPage,
  renderPlainPage,
  type Theme,
} from './shell.js'

const query = Type.Object({
  to: Type.String({ maxLength: 10 }),
  page: Type.Optional(Type.String({ maxLength: 40 })),
})

/** Pages and their files are no part of the API. */
const fromMemory = {
  hidden: true,
  guard: [],
  refuses: ['not_found'],
  answers: {},
  config: { unlimited: 'Sent from memory' },
} as const

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
const languageRoutes = (server: Server, { assets, cookies }: { assets: Assets; cookies: Cookies }) => {
  const isPage = (name: string): name is PageName => Object.hasOwn(assets.pages, name)

  route(server, `GET ${languageSwitch}`, {
    ...fromMemory,
    query,
    handle: async ({ query: { to, page }, request, reply }) => {
      const from = askingPage(request)
      if (!isLanguage(to) || (page !== undefined && !isPage(page))) return refuse('not_found')
      if (from !== undefined) cookies.set(reply, 'latchkey_language', to)
      reply.header('cache-control', 'no-store')
      if (page === undefined) return reply.redirect(from instanceof URL ? pathOf(from) : '/', 303)
      const { title, footer, sections } = assets.pages[page].words[to]
      return reply.send({ language: to, title, footer, words: sections })
    },
  })
}

const localesIn = (query: { ui_locales?: unknown; returnTo?: unknown }) => {
  if (typeof query.ui_locales === 'string') return query.ui_locales
  const [, returnToQuery] = typeof query.returnTo === 'string' ? query.returnTo.split('?') : []
  return new URLSearchParams(returnToQuery).get('ui_locales') ?? ''
}

/** The language that an application asks for, also on the pages on the way back to it. */
const askedLanguage = ({ query }: FastifyRequest): Language | undefined => languageAmong(localesIn(query ?? {}))

/** The texts of the remarks: a section of the catalogue. */
type ProxyWords = Record<'heading' | 'host' | 'scheme' | 'trust' | 'again', string>
const proxyWordsSection = 'setup-proxy'

type Remark = { kind: 'host' | 'scheme' | 'trust'; seen: string }

/** The first of the values that several proxies may have joined: that of the visitor. */
const firstValue = (header: string | string[] | undefined) =>
  String(header ?? '')
    .split(',')[0]
    ?.trim()
    .toLowerCase() ?? ''

/** The host under which the visitor has opened the page, if PUBLIC_URL has another one. A proxy may leave the port out. */
const otherHost = ({ headers }: FastifyRequest, { hostname, host }: URL) => {
  const given = headers.host?.toLowerCase() ?? ''
  const isOurs = [given, firstValue(headers['x-forwarded-host'])].some((each) => each === hostname || each === host)
  return isOurs ? [] : [given]
}

/**
 * The scheme of the visitor, if PUBLIC_URL has another one. A proxy says it in a header. Without a proxy the connection is not encrypted;
 * but a browser sends `Sec-Fetch-Site` over TLS and to its own machine only.
 */
const otherScheme = ({ headers }: FastifyRequest, { protocol }: URL) => {
  const expected = protocol.slice(0, -1)
  const isDirect = headers['x-forwarded-for'] === undefined && headers['sec-fetch-site'] === undefined
  const given = firstValue(headers['x-forwarded-proto']) || (isDirect ? 'http' : expected)
  return given === expected ? [] : [given]
}

/** The address of a proxy whose `X-Forwarded-For` is not believed. */
const untrustedProxy = ({ headers, ips = [], socket: { remoteAddress = '' } }: FastifyRequest) => {
  const isBelieved = ips.length > 1
  if (headers['x-forwarded-for'] === undefined || isBelieved || !ipaddr.isValid(remoteAddress)) return []
  return [ipaddr.process(remoteAddress).toString()]
}

/** What is wrong with the way on which a request came. It is judged here, because over plain HTTP the page loads no script. */
const proxyRemarks = (request: FastifyRequest, publicUrl: string): Remark[] => {
  const url = new URL(publicUrl)
  return [
    ...otherHost(request, url).map((seen) => ({ kind: 'host', seen }) as const),
    ...otherScheme(request, url).map((seen) => ({ kind: 'scheme', seen }) as const),
    ...untrustedProxy(request).map((seen) => ({ kind: 'trust', seen }) as const),
  ]
}

/** Whether the form could not work: its request would be refused, or no cookie be stored. */
const preventsSetup = (remarks: readonly Remark[]) => remarks.some(({ kind }) => kind !== 'trust')

/** The remarks as they stand in the document, with the line to write into the settings. */
const drawRemarks = (remarks: readonly Remark[], words: ProxyWords, publicUrl: string) =>
  remarks
    .map(({ kind, seen }) => {
      const values: Record<string, string> = { seen, address: publicUrl }
      const text = words[kind].replaceAll(/\{(\w+)\}/g, (_, name: string) => values[name] ?? '')
      const line = kind === 'trust' ? `\n<p><code class="secret">TRUST_PROXY=${escapeHtml(seen)}</code></p>` : ''
      return `<p>${escapeHtml(text)}</p>${line}`
    })
    .join('\n')

type SetupPage = {
  page: Page
  theme: Theme
  publicUrl: string
  settingsIn: (language: Language) => PageSettings
}

/**
 * The page of the setup for a visitor who came by a proxy that is not set up yet: only the remarks if the form could not work, else the
 * form below them. Undefined if nothing is wrong.
 */
const drawWithRemarks = (
  { page, theme, publicUrl, settingsIn }: SetupPage,
  request: FastifyRequest,
  language: Language,
) => {
  const remarks = proxyRemarks(request, publicUrl)
  if (remarks.length === 0) return undefined
  // The build puts this section into the page (`sections` in web/words/catalogue.ts), and its type is that of the catalogue.
  const words = page.words[language].sections[proxyWordsSection] as ProxyWords
  const heading = escapeHtml(words.heading)
  const content = drawRemarks(remarks, words, publicUrl)
  if (preventsSetup(remarks)) {
    const all = `<h1>${heading}</h1>\n${content}\n<p>${escapeHtml(words.again)}</p>`
    return renderContent('setup', page, theme, language, all)
  }
  const style = 'max-width:25.5rem;margin:0 auto 1rem'
  const above = `<aside class="card" style="${style}" aria-label="${heading}"><p><strong>${heading}</strong></p>\n${content}</aside>\n`
  return renderPage('setup', page, theme, settingsIn(language), above)
}

/** What can change while the service runs. The same object comes until something has changed. */
type LivePageSettings = Pick<PageSettings, 'registration' | 'secondFactor' | 'mailSignIn'>

type PagesRouteDependencies = Omit<PageSettings, 'language' | 'productName' | 'supportUrl' | keyof LivePageSettings> & {
  live: () => LivePageSettings
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
  route(server, 'GET /api/auth/assets/:name', {
    ...fromMemory,
    params: Type.Object({ name: Type.String({ maxLength: 200 }) }),
    handle: async ({ params, request, reply }) => {
      const asset = assets.files.get(params.name)
      if (!asset) return refuse('not_found')
      addVary(reply, 'accept-encoding').header('content-type', asset.type)
      // The name has a hash of the content, so a browser never needs to ask for the file again.
      reply.header('cache-control', 'public, max-age=31536000, immutable')
      return sendCompressed(request, reply, asset)
    },
  })

  route(server, 'GET /api/auth/client.js', {
    ...fromMemory,
    handle: async ({ request, reply }) => {
      const { client } = assets
      addVary(reply, 'accept-encoding').header('etag', client.tag).header('cache-control', 'public, max-age=300')
      if (isNamedIn(request.headers['if-none-match'], client.tag)) return reply.status(304).send()
      return sendCompressed(request, reply.header('content-type', client.type), client)
    },
  })
}

const redirectRoute = (server: Server, address: `GET /${string}`, to: string) =>
  route(server, address, {
    ...fromMemory,
    handle: async ({ reply }) => reply.header('cache-control', 'no-store').redirect(to),
  })

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
  { assets, theme, cookies, noteReturnTo, hasAdminPage, publicUrl, live, ...installation }: PagesRouteDependencies,
) => {
  const settingsIn = (language: Language, overrides?: Partial<PageSettings>): PageSettings => ({
    ...installation,
    ...live(),
    productName: theme.name,
    supportUrl: theme.links?.support,
    language,
    ...overrides,
  })
  const render = (name: PageName, language: Language, overrides?: Partial<PageSettings>) =>
    renderPage(name, assets.pages[name], theme, settingsIn(language, overrides))
  const cachedPage = cached(live, (name: PageName, language) => compress(render(name, language)))
  const cachedPageForSession = cached(live, (name: PageName, language) =>
    compress(render(name, language, { maybeSignedIn: true })),
  )
  const cachedPageForForm = cached(live, (name: PageName, language) =>
    renderAroundParameters(name, assets.pages[name], theme, settingsIn(language)),
  )
  const drawPlainPage = (name: PlainPageName, language: Language) =>
    renderPlainPage(name, assets.plainPages[name], theme, language)
  const cachedPlainPage = cached(live, (name: PlainPageName, language) => compress(drawPlainPage(name, language)))
  const setupPage = { page: assets.pages.setup, theme, publicUrl, settingsIn }

  const addPage = (path: `/${string}`, name: PageName) => {
    route(server, `GET ${path}`, {
      ...fromMemory,
      handle: async ({ request, reply }) => {
        noteReturnTo(request)
        const language = pageLanguage(cookies, request)
        const remarkedPage = name === 'setup' ? drawWithRemarks(setupPage, request, language) : undefined
        // It is neither cached nor compressed: anyone can send headers.
        if (remarkedPage !== undefined) return asFreshPage(reply).send(remarkedPage)
        if (name === 'login') clearPlantedCookies(cookies, request, reply)
        const bodyFor =
          pagesForSignedOut.includes(name) && hasSessionCookie(cookies, request) ? cachedPageForSession : cachedPage
        return sendPage(request, reply, bodyFor(name, language))
      },
    })
    route(server, `GET ${path}/`, {
      ...fromMemory,
      handle: async ({ request, reply }) => {
        const query = request.url.indexOf('?')
        const address = query === -1 ? path : path + request.url.slice(query)
        return reply.header('cache-control', 'no-store').redirect(address)
      },
    })
  }
  for (const name of pageNames) addPage(`/${name}`, name)
  // An application on the same host may have a /dashboard of its own.
  addPage('/api/auth/account-page', 'dashboard')
  addPage('/api/auth/setup', 'setup')
  if (hasAdminPage) addPage('/api/auth/admin', 'admin')

  // The login page sends a signed-in user to AFTER_SIGN_IN. If that is `/`, a redirect from here to the login page would never end.
  const start = installation.afterSignIn === '/' ? '/dashboard' : '/login'
  redirectRoute(server, 'GET /', start)
  // Password managers send users here who want to change their password (W3C, "A Well-Known URL for Changing Passwords").
  redirectRoute(server, 'GET /.well-known/change-password', '/api/auth/account-page#password')

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
  const hostPage = createHostPage(assets, theme, cookies)
  return { plainPage, hostPage, protocolPage, drawPage: render, drawPlainPage }
}

/** A page at the host of an application. It is not compressed: anyone may ask for it, with any address in its link. */
const createHostPage =
  (assets: Assets, theme: Theme, cookies: Cookies) =>
  (request: FastifyRequest, reply: FastifyReply, next: string | undefined) => {
    const name = next === undefined ? 'host-stopped' : 'host-again'
    const page = assets.plainPages[name]
    const style = page.styles.map((address) => styleIn(assets, address)).join('')
    const shown = { theme, language: pageLanguage(cookies, request), style, next }
    return asFreshPage(reply.status(plainPageStatus[name])).send(renderHostPage(page, shown))
  }

const styleIn = ({ files }: Assets, address: string) =>
  files.get(address.slice(address.lastIndexOf('/') + 1))?.plain.toString() ?? ''

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

/** Keeps what was made, one for each page and language, until a setting has changed. */
const cached = <Name extends string, Made>(live: () => object, make: (name: Name, language: Language) => Made) => {
  const cache = new Map<string, Made>()
  let madeWith = live()
  return (name: Name, language: Language) => {
    if (madeWith !== live()) cache.clear()
    madeWith = live()
    const key = `${name} ${language}`
    const made = cache.get(key) ?? make(name, language)
    cache.set(key, made)
    return made
  }
}
