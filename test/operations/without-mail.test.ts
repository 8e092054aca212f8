import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { freshPostgres } from '../support/databases.js'
import { goodPassword } from '../support/latchkey.js'
import { runLatchkey } from '../support/program.js'

let folder: string
let database: Awaited<ReturnType<typeof freshPostgres>>
let settings: Record<string, string>
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'latchkey-without-mail-'))
  database = await freshPostgres()
  settings = {
    NODE_ENV: 'production',
    PUBLIC_URL: 'https://auth.example.com',
    TRUST_PROXY: '127.0.0.1',
    DATABASE_URL: database.url,
    REDIS_URL: process.env.TEST_REDIS_URL ?? '',
    REDIS_PREFIX: `test:${Math.random().toString(36).slice(2)}:`,
    JWT_SECRET: 'c6M0xkq2Vw9nYb4RtL8sHd3PzJ7gFa5EuN1oKi0WvTqXyBmCrGhSlDjZfUeApIxO',
  }
})
afterAll(async () => {
  await database.drop()
  await rm(folder, { recursive: true, force: true })
})

it('production starts without a mail server, says so, and an invitation that a command prints makes an account', async () => {
  const service = runLatchkey(folder, settings)
  try {
    const [, port] = await service.says(/"port":(\d+)/)
    expect(service.output.stdout).toContain('mail is off')
    const post = async (path: string, body: object) => {
      const answer = await fetch(`http://127.0.0.1:${port}${path}`, {
        method: 'POST',
        headers: {
          'content-type': 'application/json',
          origin: 'https://auth.example.com',
          'x-forwarded-for': '192.0.2.1',
          'x-forwarded-proto': 'https',
        },
        body: JSON.stringify(body),
      })
      return { status: answer.status, body: await answer.json(), cookies: answer.headers.getSetCookie() }
    }
    expect(await post('/reset-password', { email: 'ada' })).toMatchObject({
      status: 403,
      body: { code: 'mail_is_off' },
    })

    const command = runLatchkey(folder, settings, ['invite', 'ada@example.com', '--print'])
    expect(await command.exited).toBe(0)
    const [, invite] = /^https:\/\/auth\.example\.com\/invite#token=([\w-]+)\n$/.exec(command.output.stdout) ?? []
    const person = { username: 'ada', email: 'ada@example.com', password: goodPassword, invite }
    const registered = await post('/api/auth/register', person)
    expect([registered.status, registered.body.user.username]).toEqual([201, 'ada'])
    expect(registered.cookies.some((line) => line.startsWith('access_token='))).toBe(true)
  } finally {
    await service.stop()
  }
})

it.each([
  ['REGISTRATION', 'open'],
  ['REGISTRATION', 'invited'],
  ['MAIL_SIGN_IN', 'on'],
])('%s=%s is a refused start without a mail server', async (name, value) => {
  const refused = runLatchkey(folder, { ...settings, [name]: value })
  expect(await refused.exited).toBe(1)
  expect(`${refused.output.stdout}${refused.output.stderr}`).toMatch(new RegExp(`${name}: must be .* without SMTP_URL`))
})
