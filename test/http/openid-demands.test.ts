import { afterAll, beforeAll, expect, it } from 'vitest'
import { methodsCountingAs } from '#contract/factors.js'
import type { ApplicationChange } from '../../src/applications/application-rules.js'
import { operatorClient } from '../../src/http/request-origin.js'
import { addApplication, applicationChangesOf } from '../support/applications.js'
import { basic, callerOf, createProtocolClient } from '../support/authorizations.js'
import { type Latchkey, startLatchkey } from '../support/latchkey.js'
import { noticesOf } from '../support/used-applications.js'

let latchkey: Latchkey
let application: Awaited<ReturnType<typeof addApplication>>
const client = operatorClient('root')
beforeAll(async () => {
  latchkey = await startLatchkey()
  await latchkey.app.rooms.groups.add('staff', client)
  await latchkey.signedUp('ada')
  await latchkey.signedUp('grace')
})
afterAll(() => latchkey.stop())

const { readyCode, token, refreshWith, userInfo } = createProtocolClient(() => ({ latchkey, application }))
const change = (given: ApplicationChange) => applicationChangesOf(latchkey).change(application.id, given, client)
const begin = async (name: string) => {
  application = await addApplication(latchkey, { name, backchannelLogout: 'https://notes.example.com/logout' })
}
const states = async (refreshToken: string | undefined, accessToken: string | undefined) => [
  (await refreshWith(refreshToken)).body.error ?? 'refreshed',
  (await userInfo(accessToken)).status,
]

it.each<[string, ApplicationChange, () => Promise<unknown>]>([
  [
    'two factors',
    { factors: 2 },
    async () =>
      latchkey.sql.query('update sessions set methods = $2 where id = $1', [
        (await callerOf(latchkey, 'grace')).sessionId,
        [...methodsCountingAs('both')],
      ]),
  ],
  [
    'a consent',
    { consent: 'ask' },
    async () =>
      latchkey.sql.query("insert into consents values ($1, $2, '{openid,profile,email,groups}', now())", [
        (await callerOf(latchkey, 'grace')).userId,
        application.id,
      ]),
  ],
  [
    'a group',
    { access: 'groups', groups: ['staff'] },
    () => latchkey.sql.query("update users set groups = '{staff}' where username = 'grace'"),
  ],
])('an application that demands %s ends what does not meet it, codes and tokens alike', async (what, demand, meet) => {
  await begin(what)
  await meet()
  const own = (await token(await readyCode())).body
  const code = await readyCode()
  const better = (await token(await readyCode(application, 'grace'))).body
  await change(demand)
  expect((await token(code)).body.error).toBe('invalid_grant')
  expect(await states(own.refresh_token, own.access_token)).toEqual(['invalid_grant', 401])
  expect(await states(better.refresh_token, better.access_token)).toEqual(['refreshed', 200])
  const { userId } = await callerOf(latchkey, 'ada')
  expect((await noticesOf(latchkey.sql, application.id)).map((notice) => notice.userId)).toEqual([userId])
})

it('a demand holds at a refresh, whoever wrote it and whatever the session has lost since', async () => {
  await begin('plain SQL')
  const { body } = await token(await readyCode(application, 'grace'))
  await latchkey.sql.query('update applications set factors = 2 where id = $1', [application.id])
  const next = await refreshWith(body.refresh_token)
  expect(next.status).toBe(200)
  await latchkey.sql.query("update sessions set methods = '{pwd}' where id = $1", [
    (await callerOf(latchkey, 'grace')).sessionId,
  ])
  expect(await states(next.body.refresh_token, next.body.access_token)).toEqual(['invalid_grant', 401])
})

it('a code for a redirect address that was removed is refused', async () => {
  await begin('removed')
  const code = await readyCode()
  await change({ redirectAddresses: ['https://notes.example.com/other'] })
  const refused = await token(code, basic(application.id, application.secret))
  expect(refused.body).toMatchObject({
    error: 'invalid_grant',
    error_description: expect.stringContaining('registered'),
  })
})
