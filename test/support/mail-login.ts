import type { Browser } from './client.js'
import type { Latchkey } from './latchkey.js'

export const mailLogin = '/api/auth/mail-login'

let networks = 0
/** Each has ten mails an hour. */
export const otherNetwork = () => `198.51.${Math.floor(++networks / 250)}.${1 + (networks % 250)}`

/** The code and the link in the mail of a sign-in. */
export const secretsIn = (text: string) => ({
  code: /^\s*([A-Z2-9]{4}-[A-Z2-9]{4})\s*$/m.exec(text)?.[1] ?? '',
  token: /\/login#mail=([\w-]{43})$/m.exec(text)?.[1] ?? '',
})

/** Asks for a mail to sign in, and reads it. */
export const createMailLogins = (latchkey: Pick<Latchkey, 'browser' | 'mails' | 'mailTo'>) => {
  const ask = (tab: Browser, email: string, address = otherNetwork()) => tab.post(mailLogin, { email }, { address })
  const confirm = (tab: Browser, given: object, address = otherNetwork()) =>
    tab.post(`${mailLogin}/confirm`, given, { address })
  /** The code and the link, in the browser that asked for them. */
  const mailed = async (email: string, tab = latchkey.browser()) => {
    const before = [...latchkey.mails()]
    await ask(tab, email)
    const mail = await latchkey.mailTo(email, /login#mail=/, before)
    return { tab, mail, ...secretsIn(mail.text) }
  }
  return { ask, confirm, mailed }
}
