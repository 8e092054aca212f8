import { createServer, type RequestListener } from 'node:http'
import type { AddressInfo } from 'node:net'
import { expect, it, onTestFinished } from 'vitest'
import { createBoundedFetch } from './bounded-fetch.js'

const serve = async (answer: RequestListener) => {
  const server = createServer(answer)
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  onTestFinished(() => {
    server.closeAllConnections()
    server.close()
  })
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}/`
}
const ask = createBoundedFetch(fetch, { milliseconds: 60_000, maxBytes: 1_000 })

it('follows no redirect, which would carry a key to another address', async () => {
  const keys: unknown[] = []
  const elsewhere = await serve((request, response) => {
    keys.push(request.headers.authorization)
    response.end()
  })
  const service = await serve((_, response) => response.writeHead(307, { location: elsewhere }).end())
  expect(await ask(service, { authorization: 'Bearer key' })).toMatchObject({ status: 307 })
  expect(keys).toEqual([])
})

it('reads no more than it may, also of an answer without an end', async () => {
  let isClosed = false
  const endless = await serve((_, response) => {
    const more = () => response.write('x'.repeat(400), () => setImmediate(() => isClosed || more()))
    response.once('close', () => {
      isClosed = true
    })
    more()
  })
  await expect(ask(endless, {})).rejects.toThrow('more than 1000 bytes')
  await expect.poll(() => isClosed).toBe(true)
})

it('gives up on a service that does not answer, and when it is told to, also without AbortSignal.any', async () => {
  // The edge runtime of Next 15 does not have it.
  const { any } = AbortSignal
  Reflect.deleteProperty(AbortSignal, 'any')
  onTestFinished(() => void Object.assign(AbortSignal, { any }))
  const silent = await serve(() => {})
  const hasty = createBoundedFetch(fetch, { milliseconds: 20, maxBytes: 1_000 })
  await expect(hasty(silent, {})).rejects.toThrow('timeout')
  const closing = new AbortController()
  const asked = ask(silent, {}, closing.signal)
  closing.abort()
  await expect(asked).rejects.toThrow('aborted')
  await expect(ask(silent, {}, closing.signal)).rejects.toThrow('aborted')
})
