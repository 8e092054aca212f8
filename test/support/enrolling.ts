import { expect } from 'vitest'
import { startApp } from '../../src/service/open-service.js'
import { createProviderSetup } from '../providers/provider-setup.js'
import { createAuthenticator } from './authenticator.js'
import { type Browser, createBrowser } from './client.js'
import { goodPassword, sharedParts } from './latchkey.js'
import { addUser } from './sign-up-directly.js'

export const path = '/api/auth/second-factor'
export const enrolment = { next: 'enrolment', methods: ['totp', 'passkey'] }

/** A service that requires a second factor, and an instance on the same stores that has not been switched yet. */
export const startEnrolling = async () => {
  const providers = await createProviderSetup({ SECOND_FACTOR: 'required', MAIL_SIGN_IN: 'on' })
  const latchkey = providers.service
  const { clock, config } = latchkey
  const options = { clock, log: latchkey.app.log, onFatal: () => undefined, ...(await sharedParts()) }
  const before = await startApp({ ...config, port: 0, secondFactor: 'optional' }, options)

  /** Either instance may have sent it, and shows it in its own mailbox. */
  const mailTo = async (address: string, pattern = /./) => {
    const mails = () => [latchkey.app, before].flatMap(({ platform }) => platform.mailbox?.mails() ?? [])
    const found = () => mails().find(({ to, subject, text }) => to === address && pattern.test(`${subject}\n${text}`))
    await expect.poll(found).toBeDefined()
    return found() ?? { text: '' }
  }

  /** Registers and confirms the address: where that leads. */
  const registered = async (username: string) => {
    const tab = latchkey.browser()
    const email = `${username}@example.com`
    await tab.post('/api/auth/register', { username, email, password: goodPassword })
    const token = /#token=([\w-]+)/.exec((await mailTo(email)).text)?.[1]
    return { tab, answer: await tab.post('/api/auth/verify-email', { token }) }
  }
  /** A user with a password, for tests about what comes after the registration. */
  const added = (username: string) =>
    addUser(latchkey.app, { username, email: `${username}@example.com`, password: goodPassword })
  const login = async (username: string, tab = latchkey.browser()) => {
    const answer = await tab.post('/login', { username, password: goodPassword })
    return { tab, answer }
  }
  /** A session from before the switch. */
  const signedInBefore = async (username: string) => {
    const { port } = before.config
    const tab = createBrowser(`http://localhost:${port}`)
    const headers = { origin: latchkey.url }
    const { status } = await tab.post('/login', { username, password: goodPassword }, { headers })
    if (status !== 200) throw new Error(`Signing in as ${username} gave ${status}`)
    return createBrowser(latchkey.url, tab.jar)
  }
  const mailedCode = async (username: string) => {
    const { text } = await mailTo(`${username}@example.com`, /Your code for/)
    return /^\s*([A-Z2-9]{4}-[A-Z2-9]{4})\s*$/m.exec(text)?.[1] ?? ''
  }
  /** A browser in which the mailed code was entered. */
  const opened = async (username: string, tab?: Browser) => {
    const begun = await login(username, tab)
    await begun.tab.post(`${path}/mail`)
    const { status, body } = await begun.tab.post(path, { mailedCode: await mailedCode(username) })
    expect([status, body]).toEqual([202, enrolment])
    return begun.tab
  }
  const begin = async (tab: Browser) =>
    createAuthenticator(String((await tab.act('/api/auth/totp')).body.secret), latchkey)
  const confirm = (tab: Browser, code: string) => tab.act('/api/auth/totp/confirm', { code })
  const factorsOf = async (username: string) =>
    (await latchkey.sql.query('select 1 from totp_secrets join users on id = user_id where username = $1', [username]))
      .length
  const sessionsOf = (username: string) =>
    latchkey.sql.query('select methods from sessions join users as u on u.id = user_id where username = $1', [username])

  return {
    providers,
    latchkey,
    mailTo,
    registered,
    added,
    login,
    signedInBefore,
    mailedCode,
    opened,
    begin,
    confirm,
    factorsOf,
    sessionsOf,
    stop: async () => {
      await before.close()
      await providers.close()
    },
  }
}

export type Enrolling = Awaited<ReturnType<typeof startEnrolling>>
