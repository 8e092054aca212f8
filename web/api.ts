import { linkedProviderPath, type ProviderId } from '../src/contract/providers.js'
import type {
  Accepted,
  Account,
  AccountEvent,
  Caller,
  LinkState,
  Session,
  SignedIn,
  Strength,
} from '../src/contract/schemas.js'
import { type Answer, isSignedOut, type Method, send, sendWithCsrfToken } from './requests.js'
import { refreshTokens, withoutRefresh } from './token-refresh.js'

/** What is known of the user. A password that contains it is easy to guess. */
export type PersonalData = { username?: string; email?: string; name?: string }
type Registration = { username: string; email: string; password: string; name?: string }

/** Repeats a call once with new tokens when its own have expired. A 401 after that means that the session has ended. */
const asSignedIn = async <Value>(call: () => Promise<Answer<Value>>): Promise<Answer<Value>> => {
  const since = Date.now()
  const first = await call()
  if (first.ok || !isSignedOut(first.refusal)) return first
  const refreshed = await refreshTokens(since)
  return refreshed.ok ? call() : refreshed
}

const read = <Value>(path: string) => asSignedIn(() => send<Value>('GET', path))
const change = (method: Method, path: string, body?: unknown) =>
  asSignedIn(() => sendWithCsrfToken<undefined>(method, path, body))

/** Every call that the pages make. No other file knows the addresses. */
export const api = {
  login: (username: string, password: string) => send<SignedIn>('POST', '/api/auth/login', { username, password }),
  register: (registration: Registration) => send<Accepted>('POST', '/api/auth/register', registration),
  verifyByLink: (token: string, password?: string) =>
    send<SignedIn>('POST', '/api/auth/verify-email', { token, ...(password === undefined ? {} : { password }) }),
  checkLink: (token: string) => send<LinkState>('POST', '/api/auth/verify-email/check', { token }),
  checkRegistration: () => send<LinkState>('POST', '/api/auth/verify-email/check', {}),
  resendConfirmation: () => send<Accepted>('POST', '/api/auth/verify-email/resend'),
  verifyByCode: (code: string) => send<SignedIn>('POST', '/api/auth/verify-email', { code }),
  askForReset: (email: string) => send<Accepted>('POST', '/api/auth/reset-password', { email }),
  checkReset: (token: string) => send<{ username: string }>('POST', '/api/auth/reset-password/check', { token }),
  confirmReset: (token: string, password: string) =>
    send<undefined>('POST', '/api/auth/reset-password/confirm', { token, password }),
  strength: (password: string, about: PersonalData) =>
    send<Strength>('POST', '/api/auth/password-strength', { password, ...about }),

  me: () => read<Caller>('/api/auth/me'),
  account: () => read<{ user: Account }>('/api/auth/account'),
  sessions: () => read<{ sessions: Session[] }>('/api/auth/sessions'),
  events: () => read<{ events: AccountEvent[] }>('/api/auth/events'),
  endSession: (id: string) => change('DELETE', `/api/auth/sessions/${encodeURIComponent(id)}`),
  changePassword: (currentPassword: string, newPassword: string) =>
    asSignedIn(() =>
      withoutRefresh(() =>
        sendWithCsrfToken<undefined>('POST', '/api/auth/change-password', { currentPassword, newPassword }),
      ),
    ),
  linkProvider: (provider: ProviderId, returnTo: string) =>
    asSignedIn(() =>
      sendWithCsrfToken<{ location: string }>('POST', `${linkedProviderPath(provider)}/link`, { returnTo }),
    ),
  finishLink: (provider: ProviderId) => change('POST', `${linkedProviderPath(provider)}/link/finish`, {}),
  unlinkProvider: (provider: ProviderId) => change('DELETE', linkedProviderPath(provider)),
  // No new tokens for signing out: if the session has ended already, there is nothing left to do.
  logout: () => sendWithCsrfToken<undefined>('POST', '/api/auth/logout', {}),
  logoutAll: () => change('POST', '/api/auth/logout-all', {}),
}
