import { once } from 'node:events'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { text } from 'node:stream/consumers'
import { describe, expect, it, onTestFinished, vi } from 'vitest'
import { createClient } from './client.js'

/** An application whose API refuses until the tokens are renewed, and a service that answers a renewal like this. */
const startApplication = async (renewal: () => Response) => {
  const bodies: string[] = []
  let isRenewed = false
  const answer = async (request: IncomingMessage, response: ServerResponse) => {
    bodies.push(await text(request))
    response.writeHead(isRenewed ? 200 : 401).end()
  }
  const server = createServer((request, response) => void answer(request, response)).listen(0, '127.0.0.1')
  await once(server, 'listening')
  onTestFinished(() => {
    server.closeAllConnections()
    server.close()
  })
  const address = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  const send = async (input: string | URL | Request, init?: RequestInit) => {
    // Not by `instanceof`: libraries may replace the global class, and the clone of a request has the one of Node.
    const target = typeof input === 'object' && 'clone' in input ? input : new URL(input, address)
    if (!(target instanceof URL && target.pathname === '/api/auth/refresh')) return fetch(target, init)
    const renewed = renewal()
    isRenewed = renewed.ok
    return renewed
  }
  return { client: createClient({ fetch: send }), bodies, notes: new URL('/notes', address) }
}

const user = { id: '1', username: 'ada', email: 'ada@example.com', name: null }
const renewed = () => Response.json({ user })
const post = (body: BodyInit) => ({ method: 'POST', body, duplex: 'half' })

describe('fetch for the API of an application', () => {
  it('renews the tokens once and sends the request again, with its body', async () => {
    const requests: ((notes: URL) => Parameters<typeof fetch>)[] = [
      () => ['/notes', post('text')],
      (notes) => [notes, post(new Blob(['text']))],
      (notes) => [new Request(notes, post('text'))],
    ]
    for (const [index, requestFor] of requests.entries()) {
      const { client, bodies, notes } = await startApplication(renewed)
      expect((await client.fetch(...requestFor(notes))).status).toBe(200)
      expect(bodies, `request ${index}`).toEqual(['text', 'text'])
    }
  })

  it('also takes a request of another class than the global one', async () => {
    const { client, bodies, notes } = await startApplication(renewed)
    const given = new Request(notes, post('text'))
    vi.stubGlobal('Request', class extends Request {})
    onTestFinished(() => void vi.unstubAllGlobals())
    expect((await client.fetch(given)).status).toBe(200)
    expect(bodies).toEqual(['text', 'text'])
  })

  it('does not repeat a request whose body is gone, but the next one succeeds', async () => {
    const { client, bodies } = await startApplication(renewed)
    const stream = new Blob(['text']).stream()
    expect((await client.fetch('/notes', post(stream))).status).toBe(401)
    expect((await client.fetch('/notes', post('more'))).status).toBe(200)
    expect(bodies).toEqual(['text', 'more'])
  })

  it('answers 401 when the user is signed out', async () => {
    const changes: string[] = []
    const { client } = await startApplication(() => Response.json({ code: 'not_authenticated' }, { status: 401 }))
    client.onChange(({ change }) => changes.push(change))
    expect((await client.fetch('/notes')).status).toBe(401)
    // Nothing was known before, so this is no change.
    expect(changes).toEqual([])
  })

  it('asks once more if the browser gets the tokens of a bound session before the next request', async () => {
    const later = () => Response.json({ code: 'unavailable' }, { status: 503, headers: { 'retry-after': '1' } })
    const answers = [later, renewed]
    const { client } = await startApplication(() => (answers.shift() ?? renewed)())
    expect((await client.fetch('/notes')).status).toBe(200)
    expect(answers).toEqual([])
    let asked = 0
    const away = await startApplication(() => {
      asked += 1
      return later()
    })
    const answer = await away.client.fetch('/notes')
    expect([answer.status, answer.headers.get('retry-after'), asked]).toEqual([503, '1', 2])
  })

  it('is a sign-out, with its reason, when the browser has lost the key of its session', async () => {
    const refusal = () => Response.json({ code: 'device_proof_missing' }, { status: 401 })
    const { client } = await startApplication(refusal)
    expect((await client.fetch('/notes')).status).toBe(401)
    const inService = createClient({
      fetch: async (input) =>
        String(input).endsWith('/refresh') ? refusal() : Response.json({ code: 'not_authenticated' }, { status: 401 }),
    })
    expect(await inService.me()).toMatchObject({
      refused: 'not_authenticated',
      because: 'device_proof_missing',
      status: 401,
    })
  })

  it.each([
    ['a limit', () => Response.json({ error: 'Too many requests' }, { status: 429, headers: { 'retry-after': '7' } })],
    ['an overloaded service', () => Response.json({ code: 'busy' }, { status: 503, headers: { 'retry-after': '7' } })],
  ])('answers 503, and not 401, for %s', async (_, renewal) => {
    const { client } = await startApplication(renewal)
    const answer = await client.fetch('/notes')
    expect([answer.status, answer.headers.get('retry-after')]).toEqual([503, '7'])
  })

  it('takes a 401 of a proxy in front of the service for no sign-out', async () => {
    const changes: string[] = []
    const { client } = await startApplication(() => new Response('<h1>Who are you?</h1>', { status: 401 }))
    client.onChange(({ change }) => changes.push(change))
    await client.fetch('/notes')
    expect(await client.me()).toMatchObject({ refused: 'unknown', status: 401 })
    expect(changes).toEqual([])
  })

  it('answers 503 when the service cannot be reached', async () => {
    const { client } = await startApplication(() => {
      throw new TypeError('Failed to fetch')
    })
    const answer = await client.fetch('/notes')
    expect([answer.status, await answer.json()]).toEqual([503, { code: 'no_answer' }])
  })
})
