import { expect, it, onTestFinished } from 'vitest'
import { operatorClient } from '../../../src/domain/sessions/client.js'
import { startLatchkey } from '../../support/latchkey.js'
import { startLogoutReceiver } from '../../support/logout-receiver.js'
import { openidApplication } from '../../support/openid-application.js'

// In every run, contracts/ holds that both databases behave alike, and test/http/openid-*.test.ts do this on PostgreSQL.
it('an application signs its users in and is told when that ends, on the embedded database', async () => {
  const latchkey = await startLatchkey({ stores: 'embedded', settings: { ACCESS_TOKEN_ALGORITHM: 'ES256' } })
  onTestFinished(latchkey.stop)
  const receiver = await startLogoutReceiver()
  onTestFinished(receiver.stop)
  const client = operatorClient('root')
  const { groups, groupChanges } = latchkey.app.nouns
  await groups.add('staff', client)
  const access = { access: 'groups', groups: ['staff'], consent: 'ask' } as const
  const notes = await openidApplication(latchkey, { ...access, algorithm: 'ES256', backchannelLogout: receiver.url })
  const tab = await latchkey.signedUp('dee')
  const refused = await notes.ask(tab)
  expect(refused.state.next).toBe('no_access')
  const userId = refused.state.user?.id ?? ''
  const change = (wanted: { add?: string[]; remove?: string[] }) => groupChanges.change({ userId, client }, wanted)
  await change({ add: ['staff'] })
  await tab.post('/api/auth/refresh')

  // One code ten times at once: one set of tokens.
  const scope = 'openid email groups'
  const done = await notes.answer(tab, await notes.ask(tab, { scope }), 'continue')
  const exchanged = await Promise.all(
    Array.from({ length: 10 }, () => notes.exchange(done.sent, done.state.location ?? '')),
  )
  expect(exchanged.map(({ status }) => status).toSorted()).toEqual([200, ...Array(9).fill(400)])
  const tokens = await notes.signIn(tab, { scope, prompt: 'none' })
  const user = { sub: userId, email: 'dee@example.com', email_verified: true, groups: ['staff'] }
  expect(await notes.userInfo(tokens)).toEqual(user)
  const next = await notes.refresh(tokens)

  // Without the group its tokens end and it is told, and the user stays signed in here.
  await change({ remove: ['staff'] })
  await expect(notes.refresh(next)).rejects.toMatchObject({ error: 'invalid_grant' })
  await expect(notes.userInfo(next)).rejects.toMatchObject({ status: 401 })
  await expect.poll(receiver.sids).toEqual([tokens.claims.sid])
  expect((await tab.post('/api/auth/refresh')).status).toBe(200)

  // The same when the application signs the user out.
  await change({ add: ['staff'] })
  await tab.post('/api/auth/refresh')
  const { id_token } = await notes.signIn(tab)
  const sent = { id_token_hint: id_token, post_logout_redirect_uri: notes.logoutAddress }
  expect(await notes.endSession(tab, sent)).toMatchObject({ next: 'done', location: notes.logoutAddress })
  expect((await tab.post('/api/auth/refresh')).status).toBe(401)
  await expect.poll(receiver.sids).toHaveLength(2)
})
