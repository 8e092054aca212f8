import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { checkAdministrators } from '../../src/commands/doctor/accounts.js'
import { openRoomsForCommand } from '../../src/commands/open-for-commands.js'

import { minutes } from '../../src/lib/durations.js'
import { joinGroup } from '../support/administrators.js'
import type { Browser } from '../support/client.js'
import { createEmailChanges } from '../support/email-changes.js'
import { startEnrolling } from '../support/enrolling.js'
import { goodPassword, type Latchkey, startLatchkey } from '../support/latchkey.js'
import { addPasskey, createPasskey, type Passkey } from '../support/passkey.js'
import { latchkey as runCommand } from '../support/terminal.js'

/*
 * An account with a password and a passkey, and without an authenticator app. What asks for a second step after the first proof, what
 * keeps the last factor, and what can be proven are three questions, and such an account has another answer to each than one with an app.
 */

const newPassword = 'copper-Willow-83-anchor'
const path = '/api/auth/change-password'

const changePassword = (tab: Browser, currentPassword: string) => tab.act(path, { currentPassword, newPassword })
const stepUp = async (tab: Browser, passkey: Passkey) => {
  const credential = passkey.get((await tab.act('/api/auth/step-up/passkey/options')).body)
  return (await tab.act('/api/auth/step-up', { credential })).status
}
const proofOfLink = async (latchkey: Latchkey, token: string) =>
  (await latchkey.browser().post('/api/auth/email/check', { token })).body.proof

/** A stolen session learns nothing about the password, and does not change it: only the passkey makes it fresh. */
const keepsPasswordFromStaleSession = async (latchkey: Latchkey, tab: Browser, passkey: Passkey) => {
  await latchkey.advance(11 * minutes)
  for (const guess of ['wrong', goodPassword]) {
    const { status, body } = await changePassword(tab, guess)
    expect([status, body.code, body.methods]).toEqual([403, 'fresh_sign_in_required', ['passkey']])
  }
  expect((await tab.act('/api/auth/step-up', { password: goodPassword })).status).toBe(403)
  expect(await stepUp(tab, passkey)).toBe(200)
  expect((await changePassword(tab, 'wrong')).body.code).toBe('wrong_current_password')
  expect((await changePassword(tab, goodPassword)).status).toBe(204)
}

describe('an account with only a passkey beside its password', () => {
  let latchkey: Latchkey
  let changes: ReturnType<typeof createEmailChanges>
  beforeAll(async () => {
    latchkey = await startLatchkey()
    changes = createEmailChanges(latchkey)
  })
  afterAll(() => latchkey.stop())

  const withPasskey = async (name: string) => {
    const tab = await latchkey.signedUp(name)
    return { tab, ...(await addPasskey(tab, latchkey.url)) }
  }

  it('signs in with the password alone, and confirms a new address with it', async () => {
    const { tab } = await withPasskey('ada')
    expect((await latchkey.browser().post('/login', { username: 'ada', password: goodPassword })).status).toBe(200)
    await changes.ask(tab, 'ada@example.org')
    const token = await changes.confirmToken('ada@example.org')
    expect(await proofOfLink(latchkey, token)).toBe('password')
    expect((await changes.confirm(latchkey.browser(), token, goodPassword)).status).toBe(204)
  })

  it('changes the password in a fresh session only', async () => {
    const { tab, passkey } = await withPasskey('bob')
    await keepsPasswordFromStaleSession(latchkey, tab, passkey)
  })

  it('may lose the passkey, and then changes the password in any session again', async () => {
    const { tab, added } = await withPasskey('cy')
    expect((await tab.remove(`/api/auth/passkeys/${added.id}`)).status).toBe(204)
    await latchkey.advance(11 * minutes)
    expect((await changePassword(tab, goodPassword)).status).toBe(204)
  })

  it('counts as one with a second factor in lists, numbers and checks, and a reset removes the passkey', async () => {
    const { tab } = await withPasskey('dee')
    await latchkey.signedUp('eve')
    const given = { openRooms: (role: 'service role' | 'table owner') => openRoomsForCommand(latchkey.config, role) }
    const output = async (...args: string[]) => (await runCommand(given, args)).out
    const listed = await output('user', 'list', '--no-second-factor')
    expect([/\bdee\b/, /\beve\b/].map((name) => name.test(listed))).toEqual([false, true])
    const { users } = JSON.parse(await output('stats', '--json'))
    expect(users).toMatchObject({ withTotp: 0, withPasskeys: 3 })
    await joinGroup(latchkey, tab, 'dee', 'admins')
    const config = { ...latchkey.config, adminGroup: 'admins' }
    const check = () => checkAdministrators(latchkey.sql, config)
    expect(await check()).toMatchObject({ level: 'ok', says: 'admins has 1 member, 1 with a second factor' })
    await latchkey.sql.query(`update passkeys set relying_party = 'old.example'`)
    expect(await check()).toMatchObject({ level: 'warning', says: expect.stringContaining('no member of admins') })
    expect(await output('user', 'factors', 'reset', 'dee', '--yes')).toContain('removed 1 passkey')
  })
})

describe('with SECOND_FACTOR=required, an account with only a passkey beside its password', () => {
  let setup: Awaited<ReturnType<typeof startEnrolling>>
  beforeAll(async () => {
    setup = await startEnrolling()
  })
  afterAll(() => setup.stop())

  it('confirms a new address in a session only, keeps the passkey, and changes the password in a fresh session only', async () => {
    const { latchkey } = setup
    const changes = createEmailChanges(latchkey)
    await setup.added('ada')
    const tab = await setup.opened('ada')
    const passkey = createPasskey(latchkey.url)
    const credential = passkey.create((await tab.act('/api/auth/passkeys/options')).body)
    const { id } = (await tab.act('/api/auth/passkeys', { credential })).body
    expect((await changes.ask(tab, 'ada@example.org')).status).toBe(202)
    const { text } = await setup.mailTo('ada@example.org')
    const token = /confirm-email#token=([\w-]+)/.exec(text)?.[1] ?? ''
    expect(await proofOfLink(latchkey, token)).toBe('sign_in')
    expect((await changes.confirm(latchkey.browser(), token, goodPassword)).body.code).toBe('not_authenticated')
    expect((await tab.remove(`/api/auth/passkeys/${id}`)).body.code).toBe('last_factor')
    await keepsPasswordFromStaleSession(latchkey, tab, passkey)
  })
})
