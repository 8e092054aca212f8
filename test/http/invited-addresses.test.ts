import { afterAll, beforeAll, expect, it } from 'vitest'
import { isRefused } from '#contract/outcome.js'
import { operatorClient } from '../../src/http/request-origin.js'
import { readEmail } from '../../src/users/names.js'
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
  const { invitations } = latchkey.app.rooms
  const invited = emailOf('ada@example.dev')
  const tab = await latchkey.signedUp('ada')
  // Neither the answer nor what waits shows whether there is an invitation: only the owner of the mailbox learns it.
  const asked = async (email: string) => {
    const { status, body } = await changes.ask(tab, email)
    expect((await tab.get('/api/auth/email')).body).toMatchObject({ waiting: { email } })
    return [status, body]
  }
  await invitations.invite(emailOf('eve@example.dev'), operatorClient('root'))
  expect(await asked('eve@example.dev')).toEqual(await asked(invited.email))
  const token = await changes.confirmToken(invited.email)
  expect((await changes.confirm(tab, token)).body.code).toBe('email_domain_not_allowed')
  await invitations.invite(invited, operatorClient('root'))
  expect((await changes.confirm(tab, token)).status).toBe(204)
  // The address before is kept for its owner for a while: a link to register with it would not work.
  expect(await invitations.invite(emailOf('ada@example.com'), operatorClient('root'))).toEqual({
    refused: 'email_reserved',
  })
  // It is used up, and the account keeps its address of another domain.
  expect(await latchkey.sql.query('select email from invitations')).toEqual([{ email: 'eve@example.dev' }])
  for (const own of ['ada@example.dev', 'Ada@example.dev']) expect((await changes.ask(tab, own)).status).toBe(202)
})
