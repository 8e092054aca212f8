import { randomBytes } from 'node:crypto'
import { createLocalJWKSet, type JSONWebKeySet, jwtVerify } from 'jose'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { freshPostgres, testPostgres, whileAway } from '../support/databases.js'
import { type Latchkey, startLatchkey } from '../support/latchkey.js'
import { type LogoutReceiver, startLogoutReceiver } from '../support/logout-receiver.js'
import { until } from '../support/until.js'
import { addApplication, noticesOf, useApplication } from '../support/used-applications.js'

const waiting = { timeout: 30_000 }

describe('back-channel logout', () => {
  let latchkey: Latchkey
  let receiver: LogoutReceiver
  beforeAll(async () => {
    receiver = await startLogoutReceiver()
    latchkey = await startLatchkey()
  })
  afterAll(async () => {
    await latchkey.stop()
    await receiver.stop()
  })

  const publicKeys = async () => {
    const { body } = await latchkey.browser().get('/api/auth/keys')
    return createLocalJWKSet(body as unknown as JSONWebKeySet)
  }

  it('tells an application by a signed token which session of which user has ended', async () => {
    const application = await addApplication(latchkey.sql, { backchannel: receiver.url })
    const tab = await latchkey.signedUp('teller')
    const { sid, userId } = await useApplication(latchkey.sql, tab, application)
    await tab.act('/api/auth/logout')
    // The provider opens with its first application, at the next request for it.
    await tab.get('/api/auth/keys')
    await expect.poll(receiver.sids, waiting).toEqual([sid])
    const token = receiver.received[0]?.token ?? ''
    const { payload, protectedHeader } = await jwtVerify(token, await publicKeys(), {
      issuer: `${latchkey.url}/api/auth`,
      audience: application,
      typ: 'logout+jwt',
      currentDate: latchkey.clock.now(),
    })
    expect(payload).toMatchObject({
      sid,
      sub: userId,
      events: { 'http://schemas.openid.net/event/backchannel-logout': {} },
    })
    expect(payload).not.toHaveProperty('nonce')
    expect((payload.exp ?? 0) - (payload.iat ?? 0)).toBe(120)
    expect(protectedHeader.alg).toBe('ES256')
    await expect.poll(() => noticesOf(latchkey.sql, application)).toEqual([])
  })

  it('is not lost when the database fails between the end of the session and the sending', async () => {
    const application = await addApplication(latchkey.sql, { backchannel: receiver.url })
    const tab = await latchkey.signedUp('unlucky')
    await latchkey.sql.query("insert into logout_pauses values ($1, 1, now() + interval '1 hour')", [application])
    const { sid } = await useApplication(latchkey.sql, tab, application)
    expect((await tab.act('/api/auth/logout')).status).toBe(204)
    await whileAway(latchkey.config.databaseUrl, () =>
      until('the sender has noticed', () =>
        latchkey.logLines.join('\n').includes('logout notices wait for the database'),
      ),
    )
    expect(receiver.sids()).not.toContain(sid)
    await until('the database is back', async () => {
      const end = latchkey.sql.query('delete from logout_pauses where application_id = $1', [application])
      return end.then(Boolean, () => false)
    })
    await expect.poll(receiver.sids, waiting).toContain(sid)
    await expect.poll(() => noticesOf(latchkey.sql, application), waiting).toEqual([])
    expect(receiver.sids().filter((told) => told === sid)).toHaveLength(1)
  })

  it('names the application and the reason in the log, and says what failed to the operator', async () => {
    const application = await addApplication(latchkey.sql, { backchannel: 'http://127.0.0.1:9/logout' })
    const tab = await latchkey.signedUp('unheard')
    await useApplication(latchkey.sql, tab, application)
    await tab.act('/api/auth/logout')
    const errors = () =>
      latchkey.sql.query('select message from application_errors where application_id = $1', [application])
    await expect.poll(errors, waiting).toEqual([{ message: 'logout notice: http://127.0.0.1:9 cannot be reached' }])
    await expect.poll(() => latchkey.logLines.join('\n'), waiting).toContain('logout notice could not be delivered yet')
  })
})

it('is sent once by two instances, also for a session that ended while none was running', async () => {
  const receiver = await startLogoutReceiver()
  const { url: databaseUrl, drop } = await freshPostgres()
  const database = testPostgres(databaseUrl)
  const settings = { DATABASE_URL: databaseUrl, JWT_SECRET: randomBytes(48).toString('hex') }
  const first = await startLatchkey({ settings })
  const application = await addApplication(first.sql, { backchannel: receiver.url })
  const tab = await first.signedUp('absent')
  const { sid } = await useApplication(first.sql, tab, application)
  await first.stop()
  await database.query('delete from sessions where id = $1', [sid])
  const instances = await Promise.all([startLatchkey({ settings }), startLatchkey({ settings })])
  try {
    await expect.poll(receiver.sids, waiting).toEqual([sid])
    await expect.poll(() => database.query('select 1 from logout_notices')).toEqual([])
    expect(receiver.sids()).toEqual([sid])
  } finally {
    for (const instance of instances) await instance.stop()
    await receiver.stop()
    await database.close()
    await drop()
  }
})
