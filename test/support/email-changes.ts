import type { Browser } from './client.js'
import type { Latchkey } from './latchkey.js'

/** The actions of users about a new email address, and with the links in the mails about it. */
export const createEmailChanges = (latchkey: Latchkey) => {
  const tokenIn = async (address: string, page: string, subject = /./) => {
    const link = new RegExp(`/${page}#token=([\\w-]+)`)
    const mail = await latchkey.mailTo(address, new RegExp(`(?=.*${subject.source}).*${link.source}`, 's'))
    return link.exec(mail.text)?.[1] ?? ''
  }
  const ask = (tab: Browser, email: string) => tab.act('/api/auth/email', { email })
  const confirm = (tab: Browser, token: string, password?: string) =>
    tab.post('/api/auth/email/confirm', { token, ...(password !== undefined && { password }) })

  return {
    ask,
    confirm,
    confirmToken: (address: string) => tokenIn(address, 'confirm-email'),
    undoToken: (address: string, subject?: RegExp) => tokenIn(address, 'undo', subject),
    resetToken: (address: string, subject?: RegExp) => tokenIn(address, 'reset-password', subject),
    undoEmail: (token: string) => latchkey.browser().post('/api/auth/email/undo', { token }),
    undoFactor: (token: string) => latchkey.browser().post('/api/auth/factors/undo', { token }),
    /** Asks and confirms in the same browser. */
    change: async (tab: Browser, email: string) => {
      const asked = await ask(tab, email)
      if (asked.status !== 202) throw new Error(`The change of the email began with ${asked.text}`)
      const { status } = await confirm(tab, await tokenIn(email, 'confirm-email'))
      if (status !== 204) throw new Error(`The change of the email ended with ${status}`)
    },
    emailOf: async (username: string) => {
      const [row] = await latchkey.sql.query<{ email: string }>('select email from users where username = $1', [
        username,
      ])
      return row?.email
    },
  }
}
