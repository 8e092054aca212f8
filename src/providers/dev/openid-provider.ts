import { generateKeyPairSync, randomUUID } from 'node:crypto'
import type { IncomingMessage, ServerResponse } from 'node:http'
import type { Adapter, AdapterPayload, Provider } from 'oidc-provider/lib/provider.js'
import type { Design } from '../../lib/design.js'
import { days, hours, minutes, seconds } from '../../lib/durations.js'
import { randomToken } from '../../lib/random.js'
import { RecentMap } from '../../lib/recent.js'
import {
  type ChooserPage,
  createChooserPage,
  type Handler,
  personByKey,
  readForm,
  startLoopbackServer,
} from './people.js'

const maxEntries = 5000

type Entry = { payload: AdapterPayload; until: number }

/** The memory of the issuer. When it is full, the oldest entry is dropped. */
const createIssuerStorage = () => {
  const entries = new RecentMap<string, Entry>(maxEntries)

  const read = (key: string) => {
    const found = entries.get(key)
    if (!found || found.until > Date.now()) return found?.payload
    entries.delete(key)
    return undefined
  }

  const write = (key: string, payload: AdapterPayload, expiresIn: number) => {
    entries.set(key, { payload, until: Date.now() + expiresIn * 1000 })
  }

  const findBy = (model: string, field: 'uid' | 'userCode', value: string) =>
    [...entries.keys()]
      .filter((key) => key.startsWith(`${model}:`))
      .map(read)
      .find((payload) => payload?.[field] === value)

  return (model: string): Adapter => ({
    upsert: async (id, payload, expiresIn) => {
      // No session is kept, so that the chooser is shown each time.
      if (model !== 'Session') write(`${model}:${id}`, payload, expiresIn)
    },
    find: async (id) => read(`${model}:${id}`),
    findByUid: async (uid) => findBy(model, 'uid', uid),
    findByUserCode: async (userCode) => findBy(model, 'userCode', userCode),
    consume: async (id) => {
      const payload = read(`${model}:${id}`)
      if (payload) payload.consumed = Math.floor(Date.now() / 1000)
    },
    destroy: async (id) => {
      entries.delete(`${model}:${id}`)
    },
    revokeByGrantId: async (grantId) => {
      for (const [key, { payload }] of entries) if (payload.grantId === grantId) entries.delete(key)
    },
  })
}

const chooserPath = '/choose/'
const scope = 'openid profile email'

type Settings = { hostname: string; name: string; design: Design; redirectUri: string }

/** A real OpenID Connect provider whose visitors choose who they are, without a password. */
export const startDevOpenIdProvider = async ({ hostname, name, design, redirectUri }: Settings) => {
  const page = createChooserPage({ providerName: name, design })
  const client = { clientId: 'latchkey-development', clientSecret: randomToken() }
  const open = async (issuer: string) => {
    // Not the package's main entry, which prints a warning on every Node version but one.
    const { Provider } = await import('oidc-provider/lib/provider.js')
    const provider = new Provider(issuer, {
      ...configuration(page),
      clients: [{ client_id: client.clientId, client_secret: client.clientSecret, redirect_uris: [redirectUri] }],
    })
    return createHandler(provider, page, new URL(redirectUri).origin)
  }
  // The library is large: it is loaded for the first request.
  const { origin, close } = await startLoopbackServer(hostname, (issuer) => {
    let handler: Promise<Handler> | undefined
    return async (request, response) => {
      handler ??= open(issuer)
      return (await handler)(request, response)
    }
  })
  return { issuer: origin, ...client, close }
}

const createHandler = (provider: Provider, page: ChooserPage, returnsTo: string): Handler => {
  const answerAsIssuer = provider.callback()
  return (request, response) => {
    const path = request.url ?? '/'
    if (!path.startsWith(chooserPath)) return answerAsIssuer(request, response)
    if (request.method === 'POST') return choose(provider, page, request, response)
    return page.sendChooser(response, { action: path, returnsTo })
  }
}

const choose = async (provider: Provider, page: ChooserPage, request: IncomingMessage, response: ServerResponse) => {
  const person = personByKey((await readForm(request)).get('person'))
  try {
    const { params } = await provider.interactionDetails(request, response)
    const result = person
      ? await agreement(provider, subjectPrefix + person.key, String(params.client_id))
      : { error: 'access_denied', error_description: 'The visitor refused to sign in' }
    await provider.interactionFinished(request, response, result)
  } catch {
    page.sendProblem(response, 'This sign-in has expired. Go back to the sign-in page and start again.')
  }
}

/** Choosing a user is also the consent to share the profile: there is no second page. */
const agreement = async (provider: Provider, accountId: string, clientId: string) => {
  const grant = new provider.Grant({ accountId, clientId })
  grant.addOIDCScope(scope)
  return { login: { accountId, remember: false }, consent: { grantId: await grant.save() } }
}

const subjectPrefix = 'dev-'

const findAccount = (_: unknown, subject: string) => {
  const person = personByKey(subject.slice(subjectPrefix.length))
  if (!person) return undefined
  const { name, email, emailVerified } = person
  const claims = { sub: subject, name, ...(email && { email, email_verified: emailVerified }) }
  return { accountId: subject, claims: () => claims }
}

const configuration = (page: ChooserPage) => ({
  adapter: createIssuerStorage(),
  jwks: { keys: [signingKey()] },
  enabledJWA: { idTokenSigningAlgValues: ['ES256'] },
  clientDefaults: { id_token_signed_response_alg: 'ES256' },
  cookies: { keys: [randomToken()] },
  interactions: { url: (_: unknown, { uid }: { uid: string }) => chooserPath + uid },
  features: { devInteractions: { enabled: false }, rpInitiatedLogout: { enabled: false } },
  claims: { openid: ['sub'], profile: ['name'], email: ['email', 'email_verified'] },
  scopes: ['openid', 'profile', 'email'],
  pkce: { required: () => true },
  clientBasedCORS: () => false,
  // The storage keeps no session, so that the chooser is shown each time. So tokens must not end with the session.
  expiresWithSession: () => false,
  findAccount,
  renderError: (context: { res: ServerResponse; respond?: boolean }, { error }: { error: string }) => {
    context.respond = false
    page.sendProblem(context.res, `The request is not valid (${error}).`)
  },
  ttl: {
    AccessToken: (10 * minutes) / seconds,
    AuthorizationCode: (1 * minutes) / seconds,
    IdToken: (10 * minutes) / seconds,
    Interaction: (1 * hours) / seconds,
    Session: (1 * days) / seconds,
    Grant: (1 * days) / seconds,
  },
})

const signingKey = () => {
  const { privateKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' })
  return { ...privateKey.export({ format: 'jwk' }), kid: randomUUID(), use: 'sig', alg: 'ES256' }
}
