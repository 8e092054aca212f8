import { startLatchkey, type TestLatchkey } from '@latchkey/testing'
import { createVerifier } from '@latchkey/verify'
import { afterAll, beforeAll, expect, it } from 'vitest'

let latchkey: TestLatchkey
beforeAll(async () => {
  latchkey = await startLatchkey({ settings: { ACCESS_TOKEN_ALGORITHM: 'ES256' } })
}, 60_000) // for a busy machine
afterAll(() => latchkey?.close())

it('knows a user until the token expires', async () => {
  const verifier = createVerifier({ publicUrl: latchkey.url, jwks: true, now: () => latchkey.now().getTime() })
  const { cookie } = await latchkey.signIn(await latchkey.addUser({ username: 'ada' }))
  const request = new Request('http://localhost/', { headers: { cookie } })
  expect(await verifier.verify(request)).toMatchObject({ ok: true, user: { username: 'ada' } })
  await latchkey.advance('16m')
  expect(await verifier.verify(request)).toMatchObject({ ok: false, code: 'expired' })
})
