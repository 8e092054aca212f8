import { type Answer, isTemporary, type Refusal } from './answers.js'
import { createCalls } from './calls.js'
import { createPresence } from './presence.js'
import { createRenewal } from './renewal.js'
import { createRenewingFetch } from './renewing-fetch.js'
import { createRequests, type Fetch } from './requests.js'

export type { ProviderId } from '../../../src/contract/providers.js'
export type {
  Account,
  AccountEvent,
  Caller,
  LinkState,
  Session,
  SignedIn,
  Strength,
} from '../../../src/contract/schemas.js'
export type { ClientRefusalCode } from './answers.js'
export type { AccountPage, EmailProof, PersonalData, Registration } from './calls.js'
export type { Change, User } from './presence.js'
export { type Answer, isTemporary, type Refusal }

export type ClientOptions = {
  /** The address of the service (`PUBLIC_URL`), if the page is on another host of its domain (`ALLOWED_ORIGINS`). */
  readonly baseUrl?: string
  /** Instead of the browser's own fetch. */
  readonly fetch?: Fetch
}

/** Talks to Latchkey for one page. Create one client, and use it everywhere. */
export const createClient = ({ baseUrl = '', fetch: send = (...request) => fetch(...request) }: ClientOptions = {}) => {
  const service = baseUrl.replace(/\/$/, '')
  const requests = createRequests(service, send)
  const presence = createPresence(() => calls.me())
  const renewal = createRenewal(requests.send, presence.learn)
  const calls = createCalls({ ...requests, ...renewal, ...presence })

  return {
    ...calls,
    /** Calls the listener when somebody signs in or out, here or in another tab. Returns a function that stops that. */
    onChange: presence.onChange,
    fetch: createRenewingFetch(send, renewal),
    /** The address of the sign-in page. It leads back to this page, or to `returnTo`. */
    signInUrl: (returnTo = service === '' ? location.pathname + location.search + location.hash : location.href) =>
      `${service}/login?returnTo=${encodeURIComponent(returnTo)}`,
  }
}

export type Client = ReturnType<typeof createClient>
