import { createTestKeys } from '@latchkey/testing/keys'
import { createVerifier } from '@latchkey/verify'
import { fetchGuard } from '@latchkey/verify/fetch'
import { expect, it } from 'vitest'

const publicUrl = 'https://auth.example.com'
const keys = await createTestKeys({ publicUrl })
const guard = fetchGuard(createVerifier({ publicUrl, jwks: true, fetch: keys.fetch }), { group: 'admins' })

it('lets administrators in, and nobody else', async () => {
  const ask = async (groups: string[]) =>
    guard(new Request('https://app.example.com/admin', { headers: { cookie: await keys.cookie({ groups }) } }))
  expect((await ask(['admins'])).goOn).toBe(true)
  expect((await ask([])).goOn).toBe(false)
})
