import { describe, expect, it } from 'vitest'
import { systemClock } from '../../lib/clock.js'
import { createDevelopmentMailbox } from './mail.js'

const mail = (id: number) => ({
  id: `mail-${id}`,
  to: 'ada@example.com',
  from: 'no-reply@example.com',
  subject: `Number ${id}`,
  text: 'http://localhost:3000/reset-password#token=secret-token',
  html: '<p>secret-token</p>',
})

const mailbox = (environment: 'development' | 'production' = 'development') => {
  const lines: unknown[] = []
  const log = { info: (...line: unknown[]) => lines.push(line) }
  const mailboxUrl = 'http://localhost:3000/dev/mailbox'
  return { lines, ...createDevelopmentMailbox({ environment, mailboxUrl, clock: systemClock, log }) }
}

describe('the development mailbox', () => {
  it('keeps the newest hundred mails, newest first', async () => {
    const box = mailbox()
    for (let id = 1; id <= 103; id += 1) await box.send(mail(id))
    expect(box.mails()).toHaveLength(100)
    expect(box.mails()[0]?.subject).toBe('Number 103')
    expect(box.find('mail-4')?.subject).toBe('Number 4')
    expect(box.find('mail-3')).toBeUndefined()
  })

  it('shows a mail that was delivered twice once', async () => {
    const box = mailbox()
    await box.send(mail(1))
    await box.send(mail(1))
    expect(box.mails()).toHaveLength(1)
  })

  it('writes one line that leads to the mail and carries no token', async () => {
    const box = mailbox()
    await box.send(mail(1))
    expect(box.lines).toHaveLength(1)
    expect(JSON.stringify(box.lines)).toContain('http://localhost:3000/dev/mailbox/mail-1')
    expect(JSON.stringify(box.lines)).not.toContain('secret-token')
  })

  it('does not come into being in production', () => {
    expect(() => mailbox('production')).toThrow('SMTP_URL')
  })
})
