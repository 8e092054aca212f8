import { linkedProviderPath } from '../src/contract/providers.js'
import { type Answer, isSignedOut, type Method, send, sendWithCsrfToken } from './requests.js'
import type { Provider } from './settings.js'
import { refreshTokens, withoutRefresh } from './token-refresh.js'

type SignedIn = { user: { id: string; username: string; email: string; name: string | null } }
export type Account = {
  id: string
  email: string
  username: string
  name: string | null
  provider: Provider['id'] | null
  providers: Provider['id'][]
  hasPassword: boolean
}
export type Session = {
  id: string
  ip: string
  device: string
  createdAt: string
  lastUsedAt: string
  current: boolean
}
export type AccountEvent = {
  id: string
  kind: string
  reason: string | null
  ip: string
  device: string
  createdAt: string
}
export type Strength = {
  strength: { score: 0 | 1 | 2 | 3 | 4; feedback: string[]; isStrong: boolean }
  validation: { valid: boolean; errors: string[] }
}
/** What is known of the user. A password that contains it is easy to guess. */
export type PersonalData = { username?: string; email?: string; name?: string }
/** The state of a mailed link, or of this browser's registration. `passwordRequired`: another browser registered. */
export type LinkState = {
  state: 'waiting' | 'confirmed' | 'replaced' | 'unknown'
  passwordRequired: boolean
  newerMail: boolean
}
export type Registration = { username: string; email: string; password: string; name?: string }

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
  register: (registration: Registration) => send<{ message: string }>('POST', '/api/auth/register', registration),
  verifyByLink: (token: string, password?: string) =>
    send<SignedIn>('POST', '/api/auth/verify-email', { token, ...(password === undefined ? {} : { password }) }),
  checkLink: (token: string) => send<LinkState>('POST', '/api/auth/verify-email/check', { token }),
  checkRegistration: () => send<LinkState>('POST', '/api/auth/verify-email/check', {}),
  resendConfirmation: () => send<{ message: string }>('POST', '/api/auth/verify-email/resend'),
  verifyByCode: (code: string) => send<SignedIn>('POST', '/api/auth/verify-email', { code }),
  askForReset: (email: string) => send<{ message: string }>('POST', '/api/auth/reset-password', { email }),
  checkReset: (token: string) => send<{ username: string }>('POST', '/api/auth/reset-password/check', { token }),
  confirmReset: (token: string, password: string) =>
    send<undefined>('POST', '/api/auth/reset-password/confirm', { token, password }),
  strength: (password: string, about: PersonalData) =>
    send<Strength>('POST', '/api/auth/password-strength', { password, ...about }),

  me: () => read<{ user: { id: string; username: string }; expiresAt: string }>('/api/auth/me'),
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
  linkProvider: (provider: Provider['id'], returnTo: string) =>
    asSignedIn(() =>
      sendWithCsrfToken<{ location: string }>('POST', `${linkedProviderPath(provider)}/link`, { returnTo }),
    ),
  finishLink: (provider: Provider['id']) => change('POST', `${linkedProviderPath(provider)}/link/finish`, {}),
  unlinkProvider: (provider: Provider['id']) => change('DELETE', linkedProviderPath(provider)),
  // No new tokens for signing out: if the session has ended already, there is nothing left to do.
  logout: () => sendWithCsrfToken<undefined>('POST', '/api/auth/logout', {}),
  logoutAll: () => change('POST', '/api/auth/logout-all', {}),
}
