import { codeOf, stepAt } from '../../src/factors/totp.js'
import type { Browser } from './client.js'
import type { Latchkey } from './latchkey.js'

/** An authenticator app with this secret, whose clock is the service's. */
export const createAuthenticator = (secret: string, { clock }: Pick<Latchkey, 'clock'>) => ({
  secret,
  /** The code at this many milliseconds from now. */
  code: (from = 0) => codeOf(secret, stepAt((clock.now().getTime() + from) / 1000)),
})

/** Switches two-step sign-in on. The code that confirms it is of the step before, so that the current one is still unused. */
export const addAuthenticator = async (tab: Browser, latchkey: Pick<Latchkey, 'clock'>) => {
  const begun = await tab.act('/api/auth/totp')
  const app = createAuthenticator(String(begun.body.secret), latchkey)
  const confirm = async () => {
    const code = app.code(-30_000)
    return { ...(await tab.act('/api/auth/totp/confirm', { code })), code }
  }
  const first = await confirm()
  // The step may have changed on the way: then the code was two steps old.
  const confirmed = first.status === 401 ? await confirm() : first
  if (confirmed.status !== 200) throw new Error(`Two-step sign-in could not be switched on: ${confirmed.text}`)
  return {
    ...app,
    confirmedBy: confirmed.code,
    begun: begun.body,
    recoveryCodes: confirmed.body.recoveryCodes as string[],
  }
}

/** Sets up another app, and uses the code of the current step up. */
export const replaceAuthenticator = async (tab: Browser, latchkey: Pick<Latchkey, 'clock'>) => {
  const { body } = await tab.act('/api/auth/totp/new')
  const app = createAuthenticator(String(body.secret), latchkey)
  const { status, text } = await tab.act('/api/auth/totp/new/confirm', { code: app.code() })
  if (status !== 204) throw new Error(`The app could not be replaced: ${text}`)
  return app
}
