import type { Mailer } from './mail.js'

/**
 * For a process that sends no mails: a command, whose mails a running service sends, and production without SMTP_URL. What waits from
 * before is tried again until it is too late for it.
 */
export const noMailer: Mailer = {
  send: () => Promise.reject(new Error('this process sends no mails')),
  close: async () => undefined,
}
