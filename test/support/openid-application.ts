import type { Authorization, EndSession } from '#contract/openid.js'

import type { NewApplication } from '../../src/applications/application-rules.js'
import { addApplication } from './applications.js'
import type { Browser } from './client.js'
import type { Latchkey } from './latchkey.js'
import { type Changed, createOpenidClient, discover, type SentRequest, type Tokens } from './openid-client.js'
import { until } from './until.js'

/** The question of a page, with the request that it belongs to. */
export type Asked = { sent: SentRequest; state: Authorization }

const stateOf = async <State>(answer: ReturnType<Browser['post']>) => {
  const { status, text, body } = await answer
  if (status !== 200) throw new Error(`${status}: ${text}`)
  return body as State
}

/**
 * An application of the running service, and its users' browsers, which do what the pages do:
 *
 *     const notes = await openidApplication(latchkey)
 *     const tokens = await notes.signIn(tab, { scope: 'openid email' })
 *     await notes.userInfo(tokens)
 *     await notes.refresh(tokens)
 *     await notes.endSession(tab, { id_token_hint: tokens.id_token })
 */
export const openidApplication = async (latchkey: Latchkey, given: Partial<NewApplication> = {}) => {
  const home = 'https://notes.example.com'
  const logoutAddress = `${home}/signed-out`
  const application = await addApplication(latchkey, { home, logoutAddresses: [logoutAddress], ...given })
  const [redirectAddress = ''] = application.redirectAddresses
  const issuer = `${latchkey.config.publicUrl}/api/auth`
  // While there was no application, the service asks for the first one once a second.
  await until('the provider is open', async () => Boolean(await discover(issuer).catch(() => undefined)))
  const { id, secret } = application
  const client = await createOpenidClient(issuer, { id, secret, redirectAddress }, { skew: latchkey.clock.offset })

  /** Does what the page at `/api/auth/authorize` does with the parameters that it was opened with. */
  const ask = async (tab: Browser, changed: Changed = {}): Promise<Asked> => {
    const sent = await client.request(changed)
    const parameters = sent.parameters.toString()
    return { sent, state: await stateOf<Authorization>(tab.post('/api/auth/authorization', { parameters })) }
  }

  /** The page again, after a sign-in or a proof. */
  const resume = async (tab: Browser, { sent, state: { request } }: Asked): Promise<Asked> => ({
    sent,
    state: await stateOf<Authorization>(tab.post('/api/auth/authorization', { request })),
  })

  const locationOf = ({ state: { location, next } }: Asked) => {
    if (location === undefined) throw new Error(`The page asks for ${next}`)
    return location
  }

  const redeem = (asked: Asked): Promise<Tokens> => client.redeem(asked.sent, locationOf(asked))

  return {
    ...client,
    client,
    application,
    issuer,
    redirectAddress,
    logoutAddress,
    ask,
    resume,
    redeem,
    /** The parameters that the application is given by its redirect address. */
    told: (asked: Asked) => Object.fromEntries(new URL(locationOf(asked)).searchParams),
    answer: async (tab: Browser, { sent, state: { request, user } }: Asked, answer: 'continue' | 'deny') => ({
      sent,
      state: await stateOf<Authorization>(
        tab.act('/api/auth/authorization/answer', { request, user: user?.id, answer }),
      ),
    }),
    /** In a browser that is signed in: nothing is asked. */
    signIn: async (tab: Browser, changed: Changed = {}) => redeem(await ask(tab, changed)),
    /** Does what the page at `/api/auth/end-session` does. */
    endSession: (tab: Browser, parameters: Record<string, string>, confirmed = false) =>
      stateOf<EndSession>(
        tab.act('/api/auth/end-session/answer', {
          parameters: new URLSearchParams(parameters).toString(),
          ...(confirmed && { confirmed }),
        }),
      ),
  }
}

export type OpenidApplication = Awaited<ReturnType<typeof openidApplication>>
