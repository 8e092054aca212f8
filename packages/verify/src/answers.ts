/** The answer that the guard gives instead of the application. */
export type Answer = {
  readonly status: number
  readonly headers: Readonly<Record<string, string>>
  readonly setCookies: readonly string[]
  readonly body: string
}

const noStore = { 'cache-control': 'no-store' }
const policy =
  "default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"

export const escapeHtml = (text: string) =>
  text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;').replaceAll('"', '&quot;')

/** The refusals of the guard, with the same bodies as those of the service. */
export const refusals = {
  not_authenticated: { status: 401, error: 'Not authenticated', message: 'Sign in to continue' },
  group_required: { status: 403, error: 'Group required', message: 'This account has no access to this' },
  step_up_required: { status: 403, error: 'Step-up required', message: 'Confirm again that it is you' },
  unavailable: { status: 503, error: 'Temporarily unavailable', message: 'Try again in a moment' },
} as const
type RefusalCode = keyof typeof refusals

const retryHeaders = (status: number): Record<string, string> => (status === 503 ? { 'retry-after': '5' } : {})

/** An answer for programs and scripts. */
export const jsonAnswer = (code: RefusalCode, headers: Record<string, string> = {}): Answer => {
  const { status, ...words } = refusals[code]
  return {
    status,
    headers: { ...noStore, 'content-type': 'application/json; charset=utf-8', ...retryHeaders(status), ...headers },
    setCookies: [],
    body: JSON.stringify({ code, ...words }),
  }
}

/** A page for users. `content` is HTML. */
export const pageAnswer = (status: number, title: string, content: string): Answer => ({
  status,
  headers: {
    ...noStore,
    'content-type': 'text/html; charset=utf-8',
    'content-security-policy': policy,
    ...retryHeaders(status),
  },
  setCookies: [],
  body: `<!doctype html><html lang="en"><meta charset="utf-8"><meta name="viewport" content="width=device-width"><title>${title}</title><body style="font:1.1rem/1.5 system-ui;max-width:34rem;margin:3rem auto;padding:0 1rem"><h1>${title}</h1>${content}</html>`,
})

export const redirect = (location: string, setCookies: readonly string[] = []): Answer => ({
  status: 302,
  headers: { ...noStore, location },
  setCookies,
  body: '',
})
