import { mkdtemp, readFile, rm } from 'node:fs/promises'
import { connect, type Socket } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, describe, expect, it } from 'vitest'
import { makeCertificate } from '../../../test/support/certificate.js'
import { startOddServer, startSmtpInbox } from '../../../test/support/smtp-inbox.js'
import { validAddress } from '../invalid-address.js'
import type { Mailer } from './mail.js'
import { createSmtpMailer, type SmtpDeadlines } from './smtp.js'

import { readSmtpAddress } from './smtp-address.js'

const ends: (() => Promise<unknown>)[] = []
const atTheEnd = <Thing>(thing: Thing, end: (thing: Thing) => Promise<unknown>) => {
  ends.unshift(() => end(thing))
  return thing
}
afterEach(async () => {
  for (const end of ends.splice(0)) await end()
})

const quick: SmtpDeadlines = { connect: 300, greeting: 300, silence: 1_000, whole: 900 }

const mailerFor = (url: string, deadlines?: SmtpDeadlines): Mailer => {
  const server = validAddress('SMTP_URL', readSmtpAddress(url))
  return atTheEnd(createSmtpMailer({ server, ...(deadlines && { deadlines }) }), (mailer) => mailer.close())
}

const inbox = async (options?: Parameters<typeof startSmtpInbox>[0]) =>
  atTheEnd(await startSmtpInbox(options), (server) => server.stop())

const oddServer = async (speak?: Parameters<typeof startOddServer>[0]) =>
  atTheEnd(await startOddServer(speak), (server) => server.stop())

const mail = {
  id: '01890000-0000-7000-8000-000000000001',
  to: 'ada@example.com',
  from: 'Latchkey <no-reply@auth.example.com>',
  subject: 'Grüße, «Ada»',
  text: 'Öffnen Sie:\n\nhttps://auth.example.com/reset-password#token=abc=\n',
  html: '<p>Öffnen Sie</p>',
}

describe('mail over SMTP', () => {
  it('arrives with both parts, its addresses and an id that is the same when it is delivered twice', async () => {
    const server = await inbox()
    const mailer = mailerFor(server.url)
    expect(await mailer.send(mail)).toEqual({ outcome: 'accepted' })
    await mailer.send(mail)
    const [first, second] = server.received
    expect(first).toMatchObject({ subject: mail.subject, recipients: ['ada@example.com'] })
    expect(first?.from?.address).toBe('no-reply@auth.example.com')
    expect(first?.text).toContain('\nhttps://auth.example.com/reset-password#token=abc=\n')
    expect(first?.html).toContain('<p>Öffnen Sie</p>')
    expect(first?.messageId).toBe(`<${mail.id}@auth.example.com>`)
    expect(second?.messageId).toBe(first?.messageId)
    expect(first?.raw).toMatch(/^Auto-Submitted: auto-generated\r$/m)
  })

  it('says which server cannot be reached, and why', async () => {
    const gone = await startOddServer()
    await gone.stop()
    await expect(mailerFor(`smtp://127.0.0.1:${gone.port}`).send(mail)).rejects.toThrow(
      `The mail server 127.0.0.1:${gone.port} did not take the mail: ESOCKET at CONN (ECONNREFUSED)`,
    )
  })

  it('goes to one mailbox and keeps its headers, whatever the address and the subject contain', async () => {
    const server = await inbox()
    const mailer = mailerFor(server.url)
    const odd = { ...mail, to: "o'hara!#$%@example.com", subject: 'one\r\nBcc: eve@example.com' }
    await mailer.send(odd)
    expect(server.received[0]?.recipients).toEqual([odd.to])
    expect(server.received[0]?.bcc ?? []).toEqual([])
  })

  it('tells a refusal of the recipient from a failure that may pass', async () => {
    const answers = new Map([
      ['gone@example.com', 550],
      ['busy@example.com', 451],
    ])
    const server = await inbox({
      onRcptTo: ({ address }, _session, done) => {
        const responseCode = answers.get(address)
        done(responseCode ? Object.assign(new Error(`no ${address}`), { responseCode }) : undefined)
      },
    })
    const mailer = mailerFor(server.url)
    expect(await mailer.send({ ...mail, to: 'gone@example.com' })).toEqual({
      outcome: 'refused',
      reason: 'the mail server answered 550',
    })
    await expect(mailer.send({ ...mail, to: 'busy@example.com' })).rejects.toThrow('answered 451')
    expect(await mailer.send(mail)).toEqual({ outcome: 'accepted' })
  })

  it('tries again later when our own password is rejected, and tells neither it nor the address', async () => {
    const server = await inbox({
      authOptional: false,
      allowInsecureAuth: true,
      onAuth: (_auth, _session, done) => done(new Error('no such secret hunter2 for ada@example.com')),
    })
    const mailer = mailerFor(`smtp://latchkey:hunter2@127.0.0.1:${server.port}`)
    const failure = await mailer.send(mail).catch((error: unknown) => error)
    expect(String(failure)).toContain('EAUTH')
    expect(JSON.stringify([failure, String(failure), (failure as Error).stack])).not.toMatch(/hunter2|ada@/)
    await expect(mailer.verify?.()).rejects.toThrow('EAUTH')
  })

  it('tries again later when our sender is rejected, and says in which words and which setting it is', async () => {
    const words = `5.7.1 <no-reply@auth.example.com>:\tSender not allowed, nor is ada@example.com ${'x'.repeat(300)}`
    const server = await inbox({
      onMailFrom: (_address, _session, done) => done(Object.assign(new Error(words), { responseCode: 550 })),
    })
    const said = String(
      await mailerFor(server.url)
        .send(mail)
        .catch((error: unknown) => error),
    )
    expect(said).toContain(
      'EENVELOPE at MAIL FROM answered 550 5.7.1 <[address]>: Sender not allowed, nor is [address] xxx',
    )
    expect(said).toMatch(/x \(does it accept the address in MAIL_FROM\?\)$/)
    expect(said.length).toBeLessThan(350)
  })

  it('requires encryption when asked to', async () => {
    const server = await inbox()
    await expect(mailerFor(`${server.url}?requireTLS=true`).send(mail)).rejects.toThrow('ETLS')
    expect(server.received).toEqual([])
  })

  it('names a certificate that is not trusted, and a port without TLS', async () => {
    const plain = await inbox()
    const folder = await mkdtemp(join(tmpdir(), 'latchkey-mail-'))
    const { key, cert } = await makeCertificate(folder, 'mail')
    const files = { key: await readFile(key), cert: await readFile(cert) }
    await rm(folder, { recursive: true })
    const encrypted = await inbox({ disabledCommands: [], ...files })
    await expect(mailerFor(`${encrypted.url}?requireTLS=true`).send(mail)).rejects.toThrow(
      '(DEPTH_ZERO_SELF_SIGNED_CERT, its certificate is not from a known authority)',
    )
    await expect(mailerFor(`smtps://127.0.0.1:${plain.port}`).send(mail)).rejects.toThrow(
      'it does not speak TLS on this port',
    )
  })

  it('gives up in time on a server that is gone or silent', async () => {
    const gone = await oddServer()
    await gone.stop()
    await expect(mailerFor(gone.url).send(mail)).rejects.toThrow('ESOCKET')
    const silent = await oddServer()
    await expect(mailerFor(silent.url, quick).send(mail)).rejects.toThrow('ETIMEDOUT')
  })

  it('gives up in time on a server that trickles its reply, and works again when the server does', async () => {
    const working = await inbox()
    let trickling = true
    // Every line is a part of one endless reply, so that there is never a silence to notice.
    const trickle = (socket: Socket) => {
      socket.write('220 welcome\r\n')
      const drip = setInterval(() => socket.write('250-still here\r\n'), 50)
      socket.on('close', () => clearInterval(drip))
    }
    const server = await oddServer((socket) => {
      if (trickling) return trickle(socket)
      const onward = connect(working.port, '127.0.0.1').on('error', () => {})
      socket.pipe(onward).pipe(socket)
      socket.on('close', () => onward.destroy())
    })
    const mailer = mailerFor(server.url, { ...quick, connect: 5_000, greeting: 5_000, whole: 2_000 })
    const began = performance.now()
    await expect(mailer.send(mail)).rejects.toThrow('ETIMEDOUT')
    const took = performance.now() - began
    expect(took).toBeGreaterThan(1_950)
    expect(took).toBeLessThan(10_000)
    trickling = false
    expect(await mailer.send(mail)).toEqual({ outcome: 'accepted' })
    expect(working.received).toHaveLength(1)
  })

  it('says whether the server is there, and whether it took our credentials', async () => {
    const asking = await inbox({ allowInsecureAuth: true, onAuth: (_auth, _session, done) => done(null, { user: 1 }) })
    const withPassword = mailerFor(`smtp://latchkey:hunter2@127.0.0.1:${asking.port}`)
    await expect(withPassword.verify?.()).resolves.toEqual({ authenticated: true })
    const server = await inbox()
    const mailer = mailerFor(server.url)
    await expect(mailer.verify?.()).resolves.toEqual({ authenticated: false })
    await server.stop()
    await expect(mailer.verify?.()).rejects.toThrow('ESOCKET')
  })
})
