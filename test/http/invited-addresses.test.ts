import { afterAll, beforeAll, expect, it } from 'vitest'
import { isRefused } from '../../src/contract/outcome.js'
import { readEmail } from '../../src/domain/users/email.js'
import { createEmailChanges } from '../support/email-changes.js'
import { type Latchkey, startLatchkey } from '../support/latchkey.js'

let latchkey: Latchkey
beforeAll(async () => {
  latchkey = await startLatchkey({ settings: { REGISTRATION_DOMAINS: 'example.com' } })
})
afterAll(() => latchkey.stop())

const emailOf = (address: string) => {
  const email = readEmail(address)
  if (isRefused(email)) throw new Error(`${address} is no address`)
  return email
}

it('domains bind a new address of an account, but not the present one, and an invitation overrides them', async () => {
  const changes = createEmailChanges(latchkey)
  const { invitations } = latchkey.app.nouns
  const invited = emailOf('ada@example.dev')
  const tab = await latchkey.signedUp('ada')
  expect((await changes.ask(tab, invited.email)).body.code).toBe('email_domain_not_allowed')
  await invitations.invite(invited, 'en')
  expect((await changes.ask(tab, invited.email)).status).toBe(202)
  const token = await changes.confirmToken(invited.email)
  await invitations.revoke(invited)
  expect((await changes.confirm(tab, token)).body.code).toBe('email_domain_not_allowed')
  await invitations.invite(invited, 'en')
  expect((await changes.confirm(tab, token)).status).toBe(204)
  // It is used up, and the account keeps its address of another domain.
  expect(await latchkey.sql.query('select 1 from invitations')).toEqual([])
  for (const own of ['ada@example.dev', 'Ada@example.dev']) expect((await changes.ask(tab, own)).status).toBe(202)
})
