import { spawn } from 'node:child_process'
import { createSecretKey, randomBytes, randomUUID } from 'node:crypto'
import { setTimeout as wait } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it, vi } from 'vitest'
import { createMovableClock, createWrongClock, type MovableClock } from '../../test/support/clock.js'
import { startOddServer, startSmtpInbox } from '../../test/support/smtp-inbox.js'
import { openPostgresStore, type TestStore } from '../../test/support/stores.js'
import { isRefused } from '../contract/outcome.js'
import { designOf } from '../lib/design.js'
import { days, hours, minutes } from '../lib/durations.js'
import { createSeal } from '../lib/seal.js'

import type { Database } from '../platform/database/database.js'
import { validAddress } from '../platform/invalid-address.js'
import { createSmtpMailer, type SmtpDeadlines } from '../platform/mail/smtp.js'

import { readSmtpAddress } from '../platform/mail/smtp-address.js'
import { createMails, createWaitingMails, type MailRequest, type Mails } from './mails.js'

const client = { ip: '192.0.2.1', userAgent: '' }
const reset = (to: string, token = 'TOKEN'): MailRequest => ({
  to,
  userId: null,
  template: 'reset-password',
  values: { token, validFor: 30 * minutes, hasPassword: true },
  client,
})
const notice = (to: string): MailRequest => ({
  to,
  userId: null,
  template: 'password-changed',
  values: { username: 'ada', undoToken: 'factor-x', undoFor: 7 * days },
  client,
})

type Row = { content: string | null; attempts: number; next_attempt_at: Date | null; sent_at: Date | null }
const rowsIn = (database: Database) =>
  database.query<Row>('select content, attempts, next_attempt_at, sent_at from outgoing_mail order by id')

// Nothing here is about speed, and the machine may be busy.
vi.setConfig({ testTimeout: 60_000 })

describe('outgoing mail', () => {
  const key = createSecretKey(randomBytes(32))
  let store: TestStore
  let database: Database
  let clock: MovableClock
  let lines: { level: string; text: string }[]
  let noted: { kind: string; userId?: string; reason?: string; typedName: string | undefined }[]
  let ends: (() => Promise<unknown>)[]

  const logging = (level: string) => (details: unknown, message?: string) => {
    lines.push({ level, text: `${message} ${JSON.stringify(details)}` })
  }

  const mailsFor = (url: string, on = database, deadlines?: SmtpDeadlines): Mails => {
    const server = validAddress('SMTP_URL', readSmtpAddress(url))
    const mailer = createSmtpMailer({ server, ...(deadlines && { deadlines }) })
    const mails = createMails({
      database: on,
      clock,
      seal: createSeal([key]),
      mailer,
      mailIsOff: false,
      letterhead: {
        publicUrl: 'https://auth.example.com',
        brand: { name: 'Latchkey', design: designOf('#1f6f5c') },
        from: 'Latchkey <no-reply@auth.example.com>',
      },
      log: { info: logging('info'), warn: logging('warn'), error: logging('error') },
      events: { record: async (event, { typedName }) => void noted.push({ ...event, typedName }) },
    })
    // Before the servers they talk to: a server waits for its clients to leave.
    ends.unshift(mails.stop, () => mailer.close())
    return mails
  }

  const inbox = async (options = {}, port = 0) => {
    const server = await startSmtpInbox(options, port)
    ends.push(server.stop)
    return server
  }

  beforeAll(async () => {
    store = await openPostgresStore()
    database = store.database
  })
  beforeEach(async () => {
    await database.query('delete from outgoing_mail')
    clock = createMovableClock()
    lines = []
    noted = []
    ends = []
  })
  afterEach(async () => {
    for (const end of ends) await end()
  })
  afterAll(() => store.drop())

  it('leaves with the transaction it belongs to, or not at all', async () => {
    const server = await inbox()
    const mails = mailsFor(server.url)
    mails.start()
    const broken = database.transaction(async (sql) => {
      await mails.queue(sql, reset('never@example.com'))
      throw new Error('rolled back')
    })
    await expect(broken).rejects.toThrow('rolled back')
    await database.transaction((sql) => mails.queue(sql, reset('ada@example.com')))
    await expect.poll(() => server.received.map(({ recipients }) => recipients[0])).toEqual(['ada@example.com'])
    expect(server.received[0]?.text).toContain('\nhttps://auth.example.com/reset-password#token=TOKEN\n')
  })

  it('is looked for outside of the transaction that wakes the sender', async () => {
    const server = await inbox()
    const mails = mailsFor(server.url)
    mails.start()
    await database.transaction(async (sql) => {
      await mails.queue(sql, notice('ada@example.com'))
      mails.nudge()
      await sql.query('select pg_sleep(0.2)')
    })
    await expect.poll(() => server.received.length, { timeout: 30_000 }).toBe(1)
    expect(lines).toEqual([])
  })

  it('is sealed while it waits, and only its row remains when it is gone', async () => {
    const server = await inbox()
    const mails = mailsFor(server.url)
    await mails.queue(database, reset('ada@example.com', 'very-secret'))
    const [waiting] = await rowsIn(database)
    expect(waiting?.content).toMatch(/^[\w-]{100,}$/)
    expect(createSeal([key]).open(waiting?.content ?? '')).toContain('very-secret')
    mails.start()
    await expect
      .poll(async () => (await rowsIn(database))[0])
      .toMatchObject({
        content: null,
        next_attempt_at: null,
        sent_at: expect.any(Date),
      })
    expect(JSON.stringify(lines)).not.toContain('very-secret')
  })

  it('is bounded for each address and kind, however it is spelt and however many ask at once', async () => {
    const mails = mailsFor('smtp://127.0.0.1:9')
    const spellings = ['ada@example.com', 'Ada@Example.com', 'ada+1@example.com', 'ADA+2@example.com']
    const asked = Array.from({ length: 20 }, (_, at) => reset(spellings[at % 4] ?? ''))
    const answers = await Promise.all(asked.map((request) => mails.queue(database, request)))
    expect(answers.filter((answer) => !isRefused(answer))).toHaveLength(5)
    expect(
      await mails.queue(database, { ...reset('ada@example.com'), template: 'already-registered', values: {} }),
    ).toBeUndefined()
    expect(await mails.queue(database, reset('grace@example.com'))).toBeUndefined()
    const ofGoogle = ['adaking@gmail.com', 'ada.king@gmail.com', 'a.d.a.king+x@googlemail.com', 'AdaKing+y.z@GMail.com']
    const folded = await Promise.all(
      Array.from({ length: 12 }, (_, at) => mails.queue(database, reset(ofGoogle[at % 4] ?? ''))),
    )
    expect(folded.filter((answer) => !isRefused(answer))).toHaveLength(5)
    for (const other of ['a.da@example.com', 'adaking@mygmail.com'])
      expect(await mails.queue(database, reset(other))).toBeUndefined()
    const isTaken: MailRequest = { to: 'ada@example.com', userId: null, template: 'email-taken', values: {}, client }
    const isFree: MailRequest = {
      ...isTaken,
      template: 'confirm-email',
      values: { token: 'TOKEN', code: 'U68K-3AC5', validFor: minutes },
    }
    for (const request of [isTaken, isFree, isTaken, isFree, isFree])
      expect(await mails.queue(database, request)).toBeUndefined()
    for (const request of [isTaken, isFree])
      expect(await mails.queue(database, request)).toEqual({ refused: 'ceiling_reached' })
    clock.advance(1 * hours)
    expect(await mails.queue(database, reset('ada@example.com'))).toBeUndefined()
  })

  it('is never held back when it tells of a change', async () => {
    const mails = mailsFor('smtp://127.0.0.1:9')
    for (let count = 0; count < 12; count += 1)
      expect(await mails.queue(database, notice('ada@example.com'))).toBeUndefined()
  })

  it('waits for a mail server that is down, and for longer each time', async () => {
    const first = await inbox()
    await first.stop()
    const mails = mailsFor(first.url)
    mails.start()
    await mails.queue(database, notice('ada@example.com'))
    await expect.poll(() => lines.filter(({ text }) => text.includes('could not be sent yet')).length).toBe(1)
    const second = await inbox({}, first.port)
    mails.nudge()
    await wait(200)
    expect(second.received).toHaveLength(0)
    clock.advance(2 * minutes)
    mails.nudge()
    await expect.poll(() => second.received.length).toBe(1)
    await expect.poll(async () => (await rowsIn(database))[0]?.next_attempt_at).toBeNull()
    expect((await rowsIn(database))[0]).toMatchObject({ attempts: 2 })
    await expect.poll(() => noted.map(({ kind }) => kind)).toEqual(['mail_accepted'])
  })

  it('says why it waits, to operators who ask for a user, for an address or for all', async () => {
    const mails = mailsFor('smtp://127.0.0.1:9')
    await mails.queue(database, notice('ada@example.com'))
    await mails.queue(database, notice('Grace@example.com'))
    mails.start()
    await expect.poll(() => lines.filter(({ text }) => text.includes('could not be sent yet')).length).toBe(2)
    const waiting = createWaitingMails({ database })
    expect(await waiting.list(9)).toHaveLength(2)
    expect(await waiting.list(9, { email: 'grace@Example.com' })).toMatchObject([
      { kind: 'password-changed', attempts: 1, failure: expect.stringContaining('127.0.0.1:9 did not take') },
    ])
    expect(await waiting.list(9, { email: 'nobody@example.com', userId: randomUUID() })).toEqual([])
  })

  it('is put off by a mail server that hangs or refuses for now, and dropped when the recipient is refused', async () => {
    const hanging = await startOddServer()
    ends.push(hanging.stop)
    const hung = mailsFor(hanging.url, database, { connect: 500, greeting: 500, silence: 500, whole: 1_000 })
    hung.start()
    await hung.queue(database, notice('hung@example.com'))
    expect(lines, 'queueing a mail does not wait for the mail server').toEqual([])
    await expect.poll(() => lines.map(({ text }) => text).join()).toContain('ETIMEDOUT')
    await hung.stop()

    const answers: Record<string, number> = { 'busy@example.com': 451, 'gone@example.com': 550 }
    const server = await inbox({
      onRcptTo: ({ address }: { address: string }, _session: unknown, done: (error?: Error) => void) => {
        const responseCode = answers[address]
        done(responseCode ? Object.assign(new Error('no'), { responseCode }) : undefined)
      },
    })
    const mails = mailsFor(server.url)
    mails.start()
    await mails.queue(database, notice('gone@example.com'))
    await mails.queue(database, notice('busy@example.com'))
    await expect.poll(() => lines.filter(({ text }) => text.includes('answered 451')).length).toBe(1)
    await expect.poll(() => lines.filter(({ level, text }) => level === 'error' && text.includes('550')).length).toBe(1)
    const rows = await rowsIn(database)
    expect(rows.map((row) => row.next_attempt_at !== null)).toEqual([true, false, true])
    expect(rows[1]?.content).toBeNull()
    expect(JSON.stringify(lines)).not.toMatch(/@example/)
    const reason = 'password-changed: the mail server answered 550'
    expect(noted).toEqual([{ kind: 'mail_refused', reason, typedName: 'gone@example.com' }])
  })

  it('is given up when its link is dead, and after two days in any case', async () => {
    const mails = mailsFor('smtp://127.0.0.1:9')
    await mails.queue(database, reset('ada@example.com'))
    await mails.queue(database, notice('ada@example.com'))
    mails.start()
    const count = (words: string) => lines.filter(({ text }) => text.includes(words)).length
    await expect.poll(() => count('could not be sent yet')).toBe(2)
    clock.advance(31 * minutes)
    mails.nudge()
    await expect.poll(() => count('too late')).toBe(1)
    // The other mail was tried again. Only then may the clock move: a mail that is claimed later is given up without a try.
    await expect.poll(() => count('could not be sent yet')).toBe(3)
    clock.advance(2 * days)
    mails.nudge()
    await expect.poll(() => count('too late')).toBe(2)
    expect((await rowsIn(database)).every((row) => row.content === null && row.sent_at === null)).toBe(true)
    const reasons = ['reset-password: it is too late to send it', 'password-changed: it is too late to send it']
    await expect.poll(() => noted.map(({ reason }) => reason)).toEqual(reasons)
  })

  it('is sent by an instance whose clock is ahead, and tried again: the clock of the database decides what is too late', async () => {
    clock = createWrongClock(31 * minutes)
    const mails = mailsFor('smtp://127.0.0.1:9')
    await mails.queue(database, reset('ada@example.com'))
    mails.start()
    await expect.poll(() => lines.map(({ text }) => text).join()).toContain('could not be sent yet')
    await mails.stop()
    const server = await inbox()
    await database.query('update outgoing_mail set next_attempt_at = now()')
    mailsFor(server.url).start()
    await expect.poll(() => server.received.length).toBe(1)
    expect(lines.map(({ text }) => text).join()).not.toContain('given up')
  })

  it('is given up, with the reason in the log, when the secret that sealed it is gone', async () => {
    const mails = mailsFor('smtp://127.0.0.1:9')
    await mails.queue(database, notice('ada@example.com'))
    await database.query("update outgoing_mail set content = 'AAAA'")
    mails.start()
    await expect.poll(() => lines.map(({ text }) => text).join()).toContain('no longer configured')
  })

  it('is sent once by two senders at work together', async () => {
    const server = await inbox()
    const one = mailsFor(server.url)
    const other = mailsFor(server.url, await store.another())
    const queued = Array.from({ length: 60 }, (_, at) => one.queue(database, notice(`user${at}@example.com`)))
    await Promise.all(queued)
    one.start()
    other.start()
    await expect.poll(() => server.received.length).toBe(60)
    await Promise.all([one.stop(), other.stop()])
    expect(new Set(server.received.map(({ messageId }) => messageId)).size).toBe(60)
    expect((await rowsIn(database)).every(({ sent_at, attempts }) => sent_at && attempts === 1)).toBe(true)
  })

  it('is sent later when the sender was killed between claiming and sending it', async () => {
    const server = await inbox()
    await mailsFor(server.url).queue(database, notice('ada@example.com'))
    const program = fileURLToPath(new URL('../../test/support/stuck-mail-sender.mjs', import.meta.url))
    const task = JSON.stringify({ url: store.url, key: key.export().toString('hex') })
    const child = spawn(process.execPath, [program, task], { stdio: ['ignore', 'pipe', 'inherit'] })
    const [said] = await Promise.all([new Promise((resolve) => child.stdout.once('data', resolve))])
    expect(String(said)).toContain('claimed')
    child.kill('SIGKILL')
    await new Promise((resolve) => child.once('exit', resolve))

    const mails = mailsFor(server.url)
    mails.start()
    await wait(300)
    expect(server.received).toHaveLength(0)
    clock.advance(61_000)
    mails.nudge()
    await expect.poll(() => server.received.length).toBe(1)
    await mails.stop()
    expect(await rowsIn(database)).toMatchObject([{ attempts: 2, content: null }])
  })

  it('is forgotten a day after it is done, a few at a time, and never while it waits', async () => {
    const server = await inbox()
    const mails = mailsFor(server.url)
    for (const name of ['a', 'b', 'c']) await mails.queue(database, notice(`${name}@example.com`))
    mails.start()
    await expect.poll(() => server.received.length).toBe(3)
    await mails.stop()
    await mails.queue(database, notice('waiting@example.com'))
    expect(await mails.purge(database, 2)).toBe(0)
    clock.advance(1 * days + 1 * minutes)
    expect(await mails.purge(database, 2)).toBe(2)
    expect(await mails.purge(database, 2)).toBe(1)
    expect(await mails.purge(database, 2)).toBe(0)
    expect(await rowsIn(database)).toHaveLength(1)
  })
})
