import { once } from 'node:events'
import { createServer, type RequestListener, type ServerResponse } from 'node:http'
import { type AddressInfo, connect, type Socket } from 'node:net'
import { text } from 'node:stream/consumers'
import { setTimeout as wait } from 'node:timers/promises'
import { expect, it, onTestFinished } from 'vitest'
import { closeStillConnections } from './limited-server.js'

const limits = { idle: 500, unread: 500, interval: 50 }
/** More than the buffers of two sockets hold. */
const large = Buffer.alloc(32 * 1024 * 1024)

const start = async (answer: RequestListener, { unread } = limits) => {
  const answers = new Map<Socket, ServerResponse>()
  const server = createServer({ keepAliveTimeout: 0 }, (request, response) => {
    answers.set(request.socket, response)
    answer(request, response)
  })
  closeStillConnections(server, (socket) => answers.get(socket), { ...limits, unread })
  await once(server.listen(0, '127.0.0.1'), 'listening')
  onTestFinished(() => server.close().closeAllConnections())
  return (server.address() as AddressInfo).port
}

const ask = (port: number) => {
  const socket = connect(port, '127.0.0.1')
  socket.on('error', () => {})
  socket.write('GET / HTTP/1.1\r\nHost: localhost\r\n\r\n')
  return socket
}

it('closes a connection on which nothing has happened for long, and none on which requests follow one another', async () => {
  const port = await start((_request, response) => response.end('done'))
  const [idle, used] = [ask(port), ask(port)]
  const answers = text(used)
  const requests = setInterval(() => used.write('GET / HTTP/1.1\r\nHost: localhost\r\n\r\n'), 100)
  expect(await text(idle)).toMatch(/done$/)
  await wait(2 * limits.idle)
  expect(used.destroyed).toBe(false)
  clearInterval(requests)
  expect((await answers).match(/done/g)?.length).toBeGreaterThan(5)
})

it('closes the connection of a client that does not read its answer', async () => {
  const served: Socket[] = []
  const port = await start(({ socket }, response) => {
    served.push(socket)
    response.end(large)
  })
  const client = ask(port).pause()
  await expect.poll(() => served[0]?.destroyed).toBe(true)
  client.destroy()
})

it('waits for a client that reads a long answer slowly', async () => {
  const unread = 2_000
  const port = await start((_request, response) => response.end(large), { ...limits, unread })
  const socket = ask(port)
  const begun = performance.now()
  let read = 0
  socket.on('data', ({ length }: Buffer) => {
    read += length
    if (read >= large.length) socket.destroy()
    // As much of it as of the time.
    const early = (read / large.length) * 1.5 * unread - (performance.now() - begun)
    if (early <= 0) return
    socket.pause()
    setTimeout(() => socket.resume(), early)
  })
  await once(socket, 'close')
  expect(read).toBeGreaterThanOrEqual(large.length)
})

it('leaves a client alone that waits for its answer', async () => {
  const port = await start((_request, response) => {
    setTimeout(() => response.end('at last'), 3 * limits.idle)
  })
  expect(await text(ask(port))).toMatch(/at last$/)
})
