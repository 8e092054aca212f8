import { createServer, type RequestListener } from 'node:http'
import { type AddressInfo, createServer as createTcpServer, type Server } from 'node:net'
import { gzipSync } from 'node:zlib'
import { afterEach, describe, expect, it } from 'vitest'
import { startStopwatch } from '../../../test/support/stopwatch.js'
import { createOutbound, OutboundFailed, type OutboundOptions } from './outbound.js'

const open: { close(): void }[] = []

afterEach(() => {
  for (const server of open.splice(0)) server.close()
})

const listen = async (server: Server) => {
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`
}

const serve = (answer: RequestListener) => {
  const server = createServer(answer)
  open.push({ close: () => [server.close(), server.closeAllConnections()] })
  return listen(server)
}

const outboundTo = (options: OutboundOptions = {}) => createOutbound({ allowLoopbackHttp: true, ...options })

const codeOf = async (pending: Promise<unknown>) => {
  const error = await pending.then(
    () => undefined,
    (reason: unknown) => reason,
  )
  return error instanceof OutboundFailed ? error.code : error
}

describe('outbound', () => {
  it('takes the status alone if that is all that matters, although the body never ends or breaks off', async () => {
    const endless = await serve((_, response) => void response.writeHead(200).write('the body'))
    const broken = await serve((_, response) => {
      response.writeHead(200, { 'content-length': '100' })
      response.write('the body', () => response.destroy())
    })
    for (const url of [endless, broken]) {
      const statusOf = outboundTo({ cutBody: true }).withDeadline()
      expect((await statusOf(url)).status).toBe(200)
    }
    expect(await codeOf(outboundTo({ totalTimeout: 300 }).withDeadline()(endless))).toBe('timeout')
  })

  it('sends method, headers and a form, and reads the whole answer', async () => {
    const url = await serve(async (request, response) => {
      const chunks: Buffer[] = []
      for await (const chunk of request) chunks.push(chunk as Buffer)
      response.setHeader('content-type', 'application/json')
      response.statusCode = 201
      response.end(
        JSON.stringify({ method: request.method, body: Buffer.concat(chunks).toString(), ...request.headers }),
      )
    })
    const response = await outboundTo().withDeadline()(`${url}/token`, {
      method: 'POST',
      headers: { accept: 'application/json' },
      body: new URLSearchParams({ code: 'a b' }),
    })
    expect(response.status).toBe(201)
    expect(await response.json()).toMatchObject({
      method: 'POST',
      body: 'code=a+b',
      accept: 'application/json',
      'accept-encoding': 'identity',
      'content-type': 'application/x-www-form-urlencoded;charset=UTF-8',
    })
  })

  it('hands a redirect back and does not follow it', async () => {
    let requests = 0
    const url = await serve((_request, response) => {
      requests += 1
      response.writeHead(302, { location: '/elsewhere' }).end()
    })
    expect((await outboundTo().withDeadline()(url)).status).toBe(302)
    expect(requests).toBe(1)
  })

  it('stops reading beyond its bound, announced or not', async () => {
    const announced = await serve((_request, response) => response.end(Buffer.alloc(2000)))
    const endless = await serve((_request, response) => {
      const timer = setInterval(() => response.write(Buffer.alloc(500)), 5)
      response.on('close', () => clearInterval(timer))
    })
    const { withDeadline } = outboundTo({ maximumBytes: 1024 })
    expect(await codeOf(withDeadline()(announced))).toBe('too_large')
    expect(await codeOf(withDeadline()(endless))).toBe('too_large')
  })

  it('gives up on an answer that never comes, and on one that never ends', async () => {
    const silent = await serve(() => undefined)
    const trickling = await serve((_request, response) => {
      const timer = setInterval(() => response.write('.'), 20)
      response.on('close', () => clearInterval(timer))
    })
    const { withDeadline } = outboundTo({ totalTimeout: 200 })
    const time = startStopwatch()
    expect(await Promise.all([codeOf(withDeadline()(silent)), codeOf(withDeadline()(trickling))])).toEqual([
      'timeout',
      'timeout',
    ])
    expect(time()).toBeLessThan(1500)
  })

  it('gives up on an answer that switches protocols, which nobody asked for', async () => {
    const server = createTcpServer((socket) => {
      socket.on('error', () => socket.destroy())
      socket.once('data', () =>
        socket.write('HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: x\r\n\r\n'),
      )
    })
    open.push(server)
    const url = await listen(server)
    expect(await codeOf(outboundTo().withDeadline()(url))).toBe('unreachable')
  })

  it('gives up on a connection that is never made', async () => {
    // A port that answers no handshake: the connection is taken, and TLS never begins.
    const mute = createTcpServer(() => undefined)
    open.push(mute)
    const url = (await listen(mute)).replace('http:', 'https:')
    const time = startStopwatch()
    expect(await codeOf(outboundTo({ connectTimeout: 150 }).withDeadline()(url))).toBe('connect_timeout')
    expect(time()).toBeLessThan(1500)
  })

  it('shares one deadline among the requests that share a deadline', async () => {
    const [prompt, silent] = [await serve((_request, response) => response.end('here')), await serve(() => undefined)]
    const fetch = outboundTo({ totalTimeout: 1_000 }).withDeadline()
    const outcomes = []
    for (const url of [prompt, silent, prompt]) outcomes.push(await codeOf(fetch(url)))
    expect(outcomes).toEqual([undefined, 'timeout', 'timeout'])
  })

  it('speaks plain http to this machine only, and only where it was allowed', async () => {
    const url = await serve((_request, response) => response.end('here'))
    expect(await codeOf(createOutbound().withDeadline()(url))).toBe('forbidden')
    expect(await codeOf(outboundTo().withDeadline()('http://192.0.2.1/'))).toBe('forbidden')
    expect(await codeOf(outboundTo().withDeadline()('http://localhost.evil.example/'))).toBe('forbidden')
    expect(await codeOf(outboundTo().withDeadline()('file:///etc/hostname'))).toBe('forbidden')
    expect(await codeOf(outboundTo().withDeadline()('nonsense'))).toBe('forbidden')
  })

  it('takes no compressed body, which could unfold beyond the bound', async () => {
    const url = await serve((_request, response) => {
      response.setHeader('content-encoding', 'gzip')
      response.end(gzipSync(Buffer.alloc(100_000)))
    })
    expect(await codeOf(outboundTo().withDeadline()(url))).toBe('encoded')
  })

  it('keeps the callers of a stuck host apart from those of another', async () => {
    let waiting = 0
    const stuck = await serve(() => {
      waiting += 1
    })
    const healthy = await serve((_request, response) => response.end('fine'))
    const { withDeadline } = outboundTo({ concurrency: 2, totalTimeout: 3_000 })
    // One deadline for all of them: with others, a place that is free again could be taken for a moment.
    const toStuck = withDeadline()
    const stuckCalls = Promise.all(Array.from({ length: 14 }, () => codeOf(toStuck(stuck))))
    let isOver = false
    void stuckCalls.then(() => {
      isOver = true
    })
    expect(await (await withDeadline()(healthy)).text()).toBe('fine')
    expect(isOver).toBe(false)
    const outcomes = await stuckCalls
    expect(waiting).toBe(2)
    expect(outcomes.filter((code) => code === 'timeout')).toHaveLength(10)
    expect(outcomes.filter((code) => code === 'busy')).toHaveLength(4)
  })

  it('serves those who waited, in order, and leaves no place taken', async () => {
    let together = 0
    let most = 0
    const url = await serve((_request, response) => {
      together += 1
      most = Math.max(most, together)
      setTimeout(() => {
        together -= 1
        response.end('done')
      }, 10)
    })
    const { withDeadline } = outboundTo({ concurrency: 3 })
    const outcomes = await Promise.all(Array.from({ length: 15 }, () => codeOf(withDeadline()(url))))
    expect(outcomes.every((code) => code === undefined)).toBe(true)
    expect(most).toBe(3)
    expect(await codeOf(withDeadline()(url))).toBeUndefined()
  })

  it('says nothing of addresses, bodies or headers in an error', async () => {
    const url = await serve((_request, response) => response.destroy())
    const error = await outboundTo()
      .withDeadline()(`${url}/token?code=hush`, {
        method: 'POST',
        headers: { authorization: 'Bearer hush' },
        body: 'hush',
      })
      .catch((reason: unknown) => reason)
    expect(error).toBeInstanceOf(OutboundFailed)
    expect(JSON.stringify([error, String(error), (error as Error).stack, (error as Error).cause])).not.toContain('hush')
  })

  it('tells a server that speaks no TLS from one that is away', async () => {
    const plain = (await serve((_request, response) => response.end())).replace('http:', 'https:')
    expect(await codeOf(outboundTo().withDeadline()(plain))).toBe('tls')
  })

  it('tells an unreachable host from a slow one', async () => {
    const closed = createTcpServer()
    const url = await listen(closed)
    await new Promise((resolve) => closed.close(resolve))
    expect(await codeOf(outboundTo().withDeadline()(url))).toBe('unreachable')
  })
})
