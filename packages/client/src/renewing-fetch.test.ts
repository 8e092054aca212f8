import { describe, expect, it } from 'vitest'
import { createClient } from './client.js'

/** An application whose API refuses until the tokens are renewed, and a service that answers a renewal like this. */
const startApplication = (renewal: () => Response) => {
  const bodies: string[] = []
  // Node cancels the body of a cloned request that nothing holds any more.
  const held: Request[] = []
  let isRenewed = false
  const fetch = async (input: string | URL | Request, init?: RequestInit) => {
    const request = input instanceof Request ? input : new Request(new URL(input, 'http://app.test'), init)
    held.push(request)
    if (request.url.endsWith('/api/auth/refresh')) {
      const answer = renewal()
      isRenewed = answer.ok
      return answer
    }
    bodies.push(await request.text())
    return new Response(null, { status: isRenewed ? 200 : 401 })
  }
  return { client: createClient({ fetch }), bodies }
}

const user = { id: '1', username: 'ada', email: 'ada@example.com', name: null }
const renewed = () => Response.json({ user })
const post = (body: BodyInit) => ({ method: 'POST', body, duplex: 'half' })

describe('fetch for the API of an application', () => {
  it('renews the tokens once and sends the request again, with its body', async () => {
    const requests: Parameters<typeof fetch>[] = [
      ['/notes', post('text')],
      [new URL('http://app.test/notes'), post(new Blob(['text']))],
      [new Request('http://app.test/notes', post('text'))],
    ]
    for (const input of requests) {
      const { client, bodies } = startApplication(renewed)
      expect((await client.fetch(...input)).status).toBe(200)
      expect(bodies).toEqual(['text', 'text'])
    }
  })

  it('does not repeat a request whose body is gone, but the next one succeeds', async () => {
    const { client, bodies } = startApplication(renewed)
    const stream = new Blob(['text']).stream()
    expect((await client.fetch('/notes', post(stream))).status).toBe(401)
    expect((await client.fetch('/notes', post('more'))).status).toBe(200)
    expect(bodies).toEqual(['text', 'more'])
  })

  it('answers 401 when the user is signed out', async () => {
    const changes: string[] = []
    const { client } = startApplication(() => Response.json({ code: 'not_authenticated' }, { status: 401 }))
    client.onChange(({ change }) => changes.push(change))
    expect((await client.fetch('/notes')).status).toBe(401)
    // Nothing was known before, so this is no change.
    expect(changes).toEqual([])
  })

  it.each([
    ['a limit', () => Response.json({ error: 'Too many requests' }, { status: 429, headers: { 'retry-after': '7' } })],
    ['an overloaded service', () => Response.json({ code: 'busy' }, { status: 503, headers: { 'retry-after': '7' } })],
  ])('answers 503, and not 401, for %s', async (_, renewal) => {
    const { client } = startApplication(renewal)
    const answer = await client.fetch('/notes')
    expect([answer.status, answer.headers.get('retry-after')]).toEqual([503, '7'])
  })

  it('takes a 401 of a proxy in front of the service for no sign-out', async () => {
    const changes: string[] = []
    const { client } = startApplication(() => new Response('<h1>Who are you?</h1>', { status: 401 }))
    client.onChange(({ change }) => changes.push(change))
    await client.fetch('/notes')
    expect(await client.me()).toMatchObject({ refused: 'unknown', status: 401 })
    expect(changes).toEqual([])
  })

  it('answers 503 when the service cannot be reached', async () => {
    const { client } = startApplication(() => {
      throw new TypeError('Failed to fetch')
    })
    const answer = await client.fetch('/notes')
    expect([answer.status, await answer.json()]).toEqual([503, { code: 'no_answer' }])
  })
})
