import type { Authorization, DeviceState, EndSession } from '../contract/openid.js'
import type { PageName, PageSettings } from '../contract/pages.js'

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
export const isExampleName = (name: string): name is ExampleName => Object.hasOwn(pageExamples, name)

export const exampleScriptPath = (name: string) => `/dev/preview/examples/${name}`

/**
 * The script that runs before the page's own. It answers the page's requests and replaces the storages, so the service is not asked and
 * the browser keeps nothing.
 */
export const exampleScript = (name: ExampleName) => {
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
