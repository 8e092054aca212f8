import { seconds } from '../../src/lib/durations.js'
import type { NewResource, Resource } from '../../src/openid/resources/resource.js'
import { createResourceChanges } from '../../src/openid/resources/resources.js'
import { challengeOf, newVerifier, postForm } from './authorizations.js'
import type { Browser } from './client.js'
import type { Latchkey } from './latchkey.js'

const operator = { ip: 'command line', userAgent: 'test' }

export const resourceChangesOf = ({ app, clock, sql: database, config }: Latchkey) =>
  createResourceChanges({ ...app.rooms, database, clock, production: config.production, publicUrl: config.publicUrl })

/** Adds a resource of the running service, as the command does. */
export const addResource = async (latchkey: Latchkey, given: Partial<NewResource> = {}): Promise<Resource> => {
  const added = await resourceChangesOf(latchkey).add(
    {
      address: 'https://mcp.example.com/mcp',
      name: 'Wiki tools',
      scopes: [
        { name: 'read', description: 'Read pages' },
        { name: 'write', description: 'Change pages' },
      ],
      access: 'everyone',
      groups: [],
      algorithm: 'ES256',
      ...given,
    },
    operator,
  )
  if ('refused' in added) throw new Error(`The resource was refused: ${added.refused}`)
  // A closed provider asks at most once a second whether there is one.
  latchkey.clock.advance(1 * seconds)
  return added.resource
}

type Asked = { client: { id: string; redirectAddresses: readonly string[] }; resource: string; scope?: string }

/** An access token for a resource: the user of this browser agrees, and the program redeems its code. */
export const resourceTokenFor = async (tab: Browser, { config }: Latchkey, { client, resource, scope }: Asked) => {
  const verifier = newVerifier()
  const [callback = ''] = client.redirectAddresses
  const parameters = new URLSearchParams({
    client_id: client.id,
    redirect_uri: callback,
    response_type: 'code',
    code_challenge: challengeOf(verifier),
    code_challenge_method: 'S256',
    resource,
    ...(scope !== undefined && { scope }),
  })
  type Body = { request?: string; user?: { id: string }; location?: string }
  const asked = (await tab.post('/api/auth/authorization', { parameters: parameters.toString() })).body as Body
  const decision = { request: asked.request, user: asked.user?.id, answer: 'continue' }
  const answered = (await tab.act('/api/auth/authorization/answer', decision)).body as Body
  const code = new URL(String(answered.location)).searchParams.get('code') ?? ''
  const form = { grant_type: 'authorization_code', client_id: client.id, code, redirect_uri: callback }
  const url = `http://127.0.0.1:${config.port}`
  const { body } = await postForm(url, '/api/auth/token', { ...form, code_verifier: verifier })
  return body.access_token ?? ''
}

/** Ends the user's session at the resource, as one click does. */
export const endAtResource = async (tab: Browser, resource: string) => {
  type Listed = { id: string; resource: string | null }
  const { sessions } = (await tab.get('/api/auth/sessions')).body as { sessions: Listed[] }
  const own = sessions.find((each) => each.resource === resource)
  await tab.remove(`/api/auth/sessions/${own?.id}`)
}
