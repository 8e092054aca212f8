// A session that ends at Latchkey, or the access of its user, ends here too
import { createRemoteJWKSet, jwtVerify } from 'jose'
import { issuer } from '../../../lib/auth.js'
import { noteEnd } from '../../../lib/ended.js'

const keys = createRemoteJWKSet(new URL(`${issuer}/keys`))

export const POST = async (request) => {
  const token = (await request.formData()).get('logout_token') ?? ''
  const expected = { issuer, audience: process.env.LATCHKEY_ID, typ: 'logout+jwt' }
  const read = await jwtVerify(token, keys, expected).catch(() => undefined)
  // Not 400, which is final: perhaps the keys were only out of reach. The notice is sent again.
  if (!read) return new Response('', { status: 503 })
  await noteEnd(read.payload)
  return new Response('')
}
