import { Type } from 'typebox'
import { isLanguage, type Language, languages } from '../contract/languages.js'
import type { Authorization, DeviceState, EndSession } from '../contract/openid.js'
import { refuse } from '../contract/outcome.js'
import { type PageName, type PageSettings, pageNames, type protocolPageNames } from '../contract/pages.js'
import { OneOf } from '../contract/refusal-bodies.js'
import { route } from '../http/route.js'
import type { Server } from '../http/server.js'
import type { Design } from '../lib/design.js'
import { escapeHtml } from '../lib/text.js'
import type { Letterhead } from '../messages/layout.js'
import type { MailKind } from '../messages/letters.js'
import { isMailKind, mailKinds, type PreviewedMail, previewMail } from '../messages/mail-preview.js'
import { allowingFrame, devPage, framedHeaders, mailFrame, pageHeaders, withLinksInTopWindow } from './dev-page.js'

export type PageExample = {
  page: PageName
  settings?: Partial<PageSettings>
  /** The answers of the service by the path of the request. Every other request fails. */
  answers: Readonly<Record<string, object>>
  /** The items in the storage of the tab. */
  storedItems?: Readonly<Record<string, string>>
}

const user = { id: '01890000-0000-7000-8000-000000000001', username: 'ada' }
const application = { name: 'Wiki', home: '/' }
const signedIn = { '/api/auth/me': { user }, '/api/auth/csrf-token': { csrfToken: 'example' } }

const consent: Authorization = { next: 'consent', application, user, scopes: ['profile', 'email', 'groups'] }

const device: DeviceState = {
  next: 'approve',
  code: 'WDJB-MJHT',
  application,
  user,
  scopes: ['profile', 'email'],
  from: {
    ip: '192.0.2.1',
    device: 'curl',
    browser: null,
    system: null,
    userAgent: 'curl/8.5.0',
    askedAt: '2026-01-31T12:00:00.000Z',
    sameNetwork: false,
  },
}

const logout: EndSession = { next: 'ask', application, user }

const atMailStage = (stage: object) => ({
  'latchkey.mail-login': JSON.stringify({ stage, until: Number.MAX_SAFE_INTEGER }),
})

/** Pages that need a situation to show something, such as a request of an application or a mail that was sent. */
export const pageExamples = {
  'mail-sign-in': {
    page: 'login',
    settings: { mailSignIn: true },
    answers: {},
    storedItems: atMailStage({ at: 'ask' }),
  },
  'mail-sign-in-code': {
    page: 'login',
    settings: { mailSignIn: true },
    answers: {},
    storedItems: atMailStage({ at: 'code', email: 'ada@example.com' }),
  },
  consent: { page: 'authorize', answers: { ...signedIn, '/api/auth/authorization': consent } },
  device: { page: 'device', answers: { ...signedIn, '/api/auth/device/question': device } },
  'end-session': { page: 'end-session', answers: { ...signedIn, '/api/auth/end-session/answer': logout } },
} as const satisfies Record<string, PageExample>

export type ExampleName = keyof typeof pageExamples
const isExampleName = (name: string): name is ExampleName => Object.hasOwn(pageExamples, name)

const exampleScriptPath = (name: string): `/${string}` => `/dev/preview/examples/${name}`

/**
 * The script that runs before the page's own. It answers the page's requests and replaces the storages, so the service is not asked and
 * the browser keeps nothing.
 */
const exampleScript = (name: ExampleName) => {
  const { answers, storedItems = {} }: PageExample = pageExamples[name]
  return `const answers = ${JSON.stringify(answers)}
const storedItems = ${JSON.stringify(storedItems)}
window.fetch = async (address) => {
  const answer = answers[new URL(address, location.href).pathname]
  return Response.json(answer ?? { error: 'An example', code: 'not_found' }, { status: answer ? 200 : 404 })
}
window.BroadcastChannel = class extends EventTarget { postMessage() {} close() {} }
Storage.prototype.getItem = (key) => storedItems[key] ?? null
Storage.prototype.setItem = Storage.prototype.removeItem = () => undefined
`
}

/** The design of the preview page: that of the operator's pages, with their logo. */
export type Look = { design: Design; brand: string }

const footer = `Examples with the looks and the words of your settings. To see pages in the dark scheme, switch your system or browser to it.
This page does not exist in production.`

const schemes = ['light', 'dark'] as const
export type Scheme = (typeof schemes)[number]

const mailPath = (kind: MailKind, language: Language) => `/dev/preview/mails/${kind}/${language}`

/** A page that says that a limit is reached. No address of it is for visitors. */
const tooManyRequests = 'too-many-requests'

type Row = { name: string; page?: PageName; addressIn: (language: Language) => string }

const ownPage = (page: PageName, path = `/${page}`): Row => ({
  name: path,
  page,
  addressIn: (language) => `${path}?ui_locales=${language}`,
})
const examplePage = (page: PageName, name: ExampleName, fragment = ''): Row => ({
  name,
  page,
  addressIn: (language) => `/dev/preview/pages/${name}/${language}${fragment}`,
})

const protocolPages: Record<(typeof protocolPageNames)[number], readonly Row[]> = {
  authorize: [examplePage('authorize', 'consent')],
  // The page shows the code filled in, and asks the question after a press.
  device: [examplePage('device', 'device', '#WDJB-MJHT')],
  'end-session': [examplePage('end-session', 'end-session')],
}

const pageRows = (hasAdminPage: boolean): readonly Row[] => [
  ...pageNames.map((name) => ownPage(name)),
  examplePage('login', 'mail-sign-in'),
  examplePage('login', 'mail-sign-in-code'),
  ...Object.values(protocolPages).flat(),
  ownPage('setup', '/api/auth/setup'),
  ...(hasAdminPage ? [ownPage('admin', '/api/auth/admin')] : []),
  { name: '/not-found', addressIn: (language) => `/not-found?ui_locales=${language}` },
  { name: tooManyRequests, addressIn: (language) => `/dev/preview/${tooManyRequests}/${language}` },
]

const renderRow = ({ name, page, addressIn }: Row) =>
  `<li class="choice"${page === undefined ? '' : ` data-page="${page}"`}><span class="subject">${escapeHtml(name)}</span><span class="about">${languages
    .map(
      (language) =>
        `<a href="${escapeHtml(addressIn(language))}" aria-label="${escapeHtml(name)}, ${language}">${language}</a>`,
    )
    .join(' · ')}</span></li>`

const needsAdminGroup =
  '<p class="about">The page of administrators is not there: <code>ADMIN_GROUP</code> is empty.</p>'

/** Each page and each mail, with a link for each language. */
const renderPreview = (look: Look, { hasAdminPage }: { hasAdminPage: boolean }) => {
  const mails = mailKinds.map((kind) => ({ name: kind, addressIn: (language: Language) => mailPath(kind, language) }))
  const main = `<section class="card"><h1>Pages</h1>${hasAdminPage ? '' : needsAdminGroup}
<ul>${pageRows(hasAdminPage).map(renderRow).join('\n')}</ul></section>
<section class="card"><h1>Mails</h1>
<ul>${mails.map(renderRow).join('\n')}</ul></section>`
  return devPage({ title: 'Preview', main, footer, ...look })
}

type ShownMail = { kind: MailKind; language: Language; mail: PreviewedMail }

const renderMailPreview = ({ kind, language, mail }: ShownMail, look: Look) => {
  const frames = schemes.map((scheme) => {
    const address = `${mailPath(kind, language)}/html?scheme=${scheme}`
    return `<h2>On a ${scheme} screen</h2>\n${mailFrame(mail.text, address, `Preview of the mail, ${scheme}`)}`
  })
  const main = `<p class="back"><a href="/dev/preview">All pages and mails</a></p>
<article class="card"><h1>${escapeHtml(mail.subject)}</h1>
<p class="about">${escapeHtml(kind)}: ${languages.map((each) => (each === language ? each : `<a href="${mailPath(kind, each)}">${each}</a>`)).join(' · ')}</p>
${frames.join('\n')}
<h2>Text part</h2>
<pre class="text">${escapeHtml(mail.text)}</pre>
</article>`
  return devPage({ title: 'Preview', main, footer, ...look })
}

/** The mail as on a screen with this scheme, whatever scheme the browser has. */
const inScheme = (html: string, scheme: Scheme | undefined) =>
  scheme === undefined
    ? html
    : html.replaceAll(/\(prefers-color-scheme: ?dark\)/g, scheme === 'dark' ? 'all' : 'not all')

/** Puts the script of the example in front of the page's own. */
const withExample = (html: string, name: ExampleName) =>
  html.replace('<script type="module"', `<script src="${exampleScriptPath(name)}"></script>\n$&`)

type Parts = {
  look: Look
  letterhead: Letterhead
  drawPage: (name: PageName, language: Language, overrides?: Partial<PageSettings>) => string
  drawPlainPage: (name: typeof tooManyRequests, language: Language) => string
  hasAdminPage: boolean
}

const page = {
  hidden: true,
  guard: [],
  refuses: ['not_found'],
  answers: { 200: Type.String() },
  config: { unlimited: 'In development only' },
} as const
const name = Type.String({ maxLength: 100 })
const language = Type.String({ maxLength: 10 })

/** Every page and every mail with the operator's looks and words. In development only: src/service/register-routes.ts sees to that. */
export const previewRoutes = (server: Server, { look, letterhead, drawPage, drawPlainPage, hasAdminPage }: Parts) => {
  route(server, 'GET /dev/preview', {
    ...page,
    handle: async ({ reply }) => reply.headers(pageHeaders).send(renderPreview(look, { hasAdminPage })),
  })

  route(server, 'GET /dev/preview/pages/:name/:language', {
    ...page,
    params: Type.Object({ name, language }),
    handle: async ({ params, reply }) => {
      if (!isExampleName(params.name) || !isLanguage(params.language)) return refuse('not_found')
      const example: PageExample = pageExamples[params.name]
      const drawn = drawPage(example.page, params.language, example.settings)
      return reply.headers(pageHeaders).send(withExample(drawn, params.name))
    },
  })

  route(server, `GET /dev/preview/${tooManyRequests}/:language`, {
    ...page,
    params: Type.Object({ language }),
    handle: async ({ params, reply }) =>
      isLanguage(params.language)
        ? reply.headers(pageHeaders).send(drawPlainPage(tooManyRequests, params.language))
        : refuse('not_found'),
  })

  route(server, `GET ${exampleScriptPath(':name')}`, {
    ...page,
    params: Type.Object({ name }),
    handle: async ({ params, reply }) =>
      isExampleName(params.name)
        ? reply.type('text/javascript; charset=utf-8').send(exampleScript(params.name))
        : refuse('not_found'),
  })

  const previewOf = ({ kind, language }: { kind: string; language: string }) =>
    isMailKind(kind) && isLanguage(language)
      ? { kind, language, mail: previewMail(letterhead, kind, language) }
      : undefined
  const mail = { ...page, params: Type.Object({ kind: name, language }) }

  route(server, 'GET /dev/preview/mails/:kind/:language', {
    ...mail,
    handle: async ({ params, reply }) => {
      const preview = previewOf(params)
      if (!preview) return refuse('not_found')
      const policy = allowingFrame(reply.getHeader('content-security-policy'))
      return reply.headers({ ...pageHeaders, 'content-security-policy': policy }).send(renderMailPreview(preview, look))
    },
  })

  route(server, 'GET /dev/preview/mails/:kind/:language/html', {
    ...mail,
    query: Type.Object({ scheme: Type.Optional(OneOf(schemes)) }),
    handle: async ({ params, query, reply }) => {
      const preview = previewOf(params)
      if (!preview) return refuse('not_found')
      return reply.headers(framedHeaders).send(withLinksInTopWindow(inScheme(preview.mail.html, query.scheme)))
    },
  })
}
