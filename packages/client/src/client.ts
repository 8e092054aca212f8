import { type Answer, isTemporary, type Refusal } from './answers.js'
import { type Calls, createCalls } from './calls.js'
import { createPresence, type Presence } from './presence.js'
import { createRenewal, createRenewingFetch } from './renewal.js'
import { createRequests, type Fetch } from './requests.js'
import { createSending } from './sending.js'

export type { AccountExport } from '#contract/account-export.js'
export type { LinkState } from '#contract/mailed-links.js'
export type {
  PasskeyCreationOptions,
  PasskeyCredential,
  PasskeyRequestOptions,
} from '#contract/passkeys.js'
export type { ProviderId } from '#contract/providers.js'
export type { Account, AccountEvent, Caller, Passkey, Session, SignedIn, Strength } from '#contract/schemas.js'
export type { ClientRefusalCode } from './answers.js'
export type {
  AccountPage,
  EmailConfirmation,
  EmailProof,
  PersonalData,
  Proof,
  Registration,
  SecondStep,
  TakeBack,
  UndoLink,
} from './calls.js'
export type { Change, User } from './presence.js'
export { type Answer, isTemporary, type Refusal }

export type ClientOptions = {
  /** The address of the service (`PUBLIC_URL`), if the page is on another host of its domain (`ALLOWED_ORIGINS`). */
  readonly baseUrl?: string
  /** Used instead of the browser's own `fetch`. */
  readonly fetch?: Fetch
}

export type Client = Calls & {
  /**
   * Calls the listener when the user signs in or out or has a new username, here or in another tab. Returns a function that removes the
   * listener.
   */
  readonly onChange: Presence['onChange']
  /**
   * `fetch` for the application's own API. If it answers 401, the tokens are renewed once and the request is sent again. A
   * 401 that remains means that the user is signed out. If the service cannot say at the moment, the answer is a 503.
   */
  readonly fetch: Fetch
  /**
   * The address of the sign-in page. It leads back to this page, or to `returnTo`: a path of this page's host, or an address. Call it in
   * a browser: on a server, which knows neither page nor host, it throws.
   */
  readonly signInUrl: (returnTo?: string) => string
}

/** Talks to Latchkey for one page. Create one client, and use it everywhere. */
export const createClient = ({
  baseUrl: address = '',
  fetch: send = (...request) => fetch(...request),
}: ClientOptions = {}): Client => {
  const baseUrl = address.replace(/\/$/, '')
  const requests = createRequests(baseUrl, send)
  const presence = createPresence(() => calls.me())
  const renewal = createRenewal(requests.send, presence.asking)
  const calls = createCalls(createSending({ ...requests, ...renewal, ...presence }))

  return {
    ...calls,
    onChange: presence.onChange,
    fetch: createRenewingFetch(send, renewal),
    signInUrl: (returnTo = location.href.slice(location.origin.length)) =>
      `${baseUrl}/login?returnTo=${encodeURIComponent(baseUrl ? returnTo.replace(/^(?=\/)/, location.origin) : returnTo)}`,
  }
}
