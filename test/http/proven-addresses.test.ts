import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { createEmailChanges } from '../support/email-changes.js'
import { type Latchkey, startLatchkey } from '../support/latchkey.js'

describe('an address counts as proven', () => {
  let latchkey: Latchkey
  let changes: ReturnType<typeof createEmailChanges>
  beforeAll(async () => {
    latchkey = await startLatchkey()
    changes = createEmailChanges(latchkey)
  })
  afterAll(() => latchkey.stop())

  const emailOf = (text: string) => ({ email: text, key: text })
  const isProven = async (username: string) => {
    const [row] = await latchkey.sql.query<{ email_proven: boolean }>(
      'select email_proven from users where username = $1',
      [username],
    )
    return row?.email_proven
  }
  const setByOperator = async (username: string) => {
    const { users, operatorChanges } = latchkey.app.rooms
    const user = await users.findByLogin(username)
    const actor = { userId: user?.id ?? '', client: { ip: '', userAgent: '' } }
    const change = { from: user?.email ?? '', email: emailOf(`${username}@example.org`), isFinal: false }
    await operatorChanges.setEmail(actor, change)
  }
  const resetPassword = async (email: string) => {
    await latchkey.browser().post('/reset-password', { email })
    const token = await changes.resetToken(email)
    const answer = await latchkey
      .browser()
      .post('/api/auth/reset-password/confirm', { token, password: 'zither-Lagoon-84-crumpet' })
    expect(answer.status).toBeLessThan(300)
  }

  it('after a registration by mail; not when an operator has set it; and again after a reset by mail', async () => {
    await latchkey.signedUp('ada')
    expect(await isProven('ada')).toBe(true)
    await setByOperator('ada')
    expect(await isProven('ada')).toBe(false)
    await resetPassword('ada@example.org')
    expect(await isProven('ada')).toBe(true)
  })

  it('after a confirmed change, and after an undo link that was mailed to it', async () => {
    await latchkey.signedUp('ben')
    await setByOperator('ben')
    const undo = await changes.undoToken('ben@example.com')
    expect(await isProven('ben')).toBe(false)
    expect((await changes.undoEmail(undo)).status).toBeLessThan(300)
    expect([await changes.emailOf('ben'), await isProven('ben')]).toEqual(['ben@example.com', true])
    const cleo = await latchkey.signedUp('cleo')
    await latchkey.sql.query("update users set email_proven = false where username = 'cleo'")
    await changes.change(cleo, 'cleo@example.net')
    expect(await isProven('cleo')).toBe(true)
  })

  it('for an account that a provider has verified, and for one that its provider is linked to by the address', async () => {
    const { newUsers, identities, users } = latchkey.app.rooms
    const identity = { provider: 'provider_a', subject: '1' } as const
    const made = await newUsers.createFromProvider({
      email: emailOf('dan@example.com'),
      username: 'dan',
      name: null,
      identity,
    })
    expect(made).toMatchObject({ username: 'dan' })
    expect(await isProven('dan')).toBe(true)
    await latchkey.signedUp('eve')
    await setByOperator('eve')
    const eve = await users.findByLogin('eve')
    if (!eve) throw new Error('eve is missing')
    await latchkey.app.platform.database.transaction((sql) =>
      identities.linkByAddress(sql, eve, { provider: 'provider_a', subject: '2' }),
    )
    expect(await isProven('eve')).toBe(true)
  })
})
