import { once } from 'node:events'
import { type AddressInfo, connect, createServer, type Socket } from 'node:net'

/** What one round trip asked of a store: the service sent this, and then waited for an answer. */
export type RoundTrip = { store: 'postgres' | 'redis'; asked: string[] }

/** Takes what a client sent apart into questions in words. One for each connection. */
type Listen = () => (sent: Buffer) => string[]

/** The statements that PostgreSQL's protocol carries, each with its values. */
const listenToPostgres: Listen = () => {
  const prepared = new Map<string, string>()
  let rest = Buffer.alloc(0)
  let isGreeting = true
  return (sent) => {
    rest = Buffer.concat([rest, sent])
    const asked: string[] = []
    for (;;) {
      // The first message of a connection has no letter before its length.
      const head = isGreeting ? 0 : 1
      const end = rest.length >= head + 4 ? head + rest.readInt32BE(head) : Number.POSITIVE_INFINITY
      if (rest.length < end) return asked
      const letter = isGreeting ? '' : String.fromCharCode(rest[0] ?? 0)
      const content = rest.subarray(head + 4, end)
      const [first = '', second = ''] = content.toString('utf8').split('\0')
      if (letter === 'P') prepared.set(first, second)
      if (letter === 'B') asked.push([prepared.get(second), ...valuesIn(content)].join(' '))
      if (letter === 'Q') asked.push(first)
      rest = rest.subarray(end)
      isGreeting = false
    }
  }
}

/** The values of a Bind message, which come after two names and the list of their forms. */
const valuesIn = (content: Buffer) => {
  const names = content.indexOf(0, content.indexOf(0) + 1) + 1
  let at = names + 2 + 2 * content.readInt16BE(names)
  const values = Array.from({ length: content.readInt16BE(at) }, () => '')
  at += 2
  return values.map(() => {
    const length = Math.max(0, content.readInt32BE(at))
    at += 4 + length
    return content.toString('utf8', at - length, at)
  })
}

/** The commands that Redis' protocol carries: an array of texts for each, of which the first is its name. */
const listenToRedis: Listen = () => (sent) =>
  [...sent.toString('latin1').matchAll(/\*\d+\r\n\$\d+\r\n(\w+)\r\n/g)].map(([, command = '']) => command.toLowerCase())

const portOf = (url: URL) => Number(url.port || (url.protocol.startsWith('redis') ? 6379 : 5432))

/** A way to a store on which everything that is asked passes by. */
const record = async (address: string, store: RoundTrip['store'], listen: Listen, seen: RoundTrip[]) => {
  const target = new URL(address)
  const sockets = new Set<Socket>()
  const server = createServer((client) => {
    const upstream = connect({ host: target.hostname, port: portOf(target), noDelay: true })
    client.setNoDelay(true)
    const read = listen()
    let open: RoundTrip | undefined
    client.on('data', (sent) => {
      const asked = read(sent)
      if (open) open.asked.push(...asked)
      else if (asked.length > 0) {
        open = { store, asked }
        seen.push(open)
      }
      upstream.write(sent)
    })
    upstream.on('data', (answer) => {
      open = undefined
      client.write(answer)
    })
    for (const [one, other] of [
      [client, upstream],
      [upstream, client],
    ] as const) {
      sockets.add(one)
      one
        .on('error', () => other.destroy())
        .on('close', () => {
          sockets.delete(one)
          other.destroy()
        })
    }
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const url = new URL(address)
  url.hostname = '127.0.0.1'
  url.port = String((server.address() as AddressInfo).port)
  const close = async () => {
    for (const socket of sockets) socket.destroy()
    server.close()
    await once(server, 'close')
  }
  return { url: url.href, close }
}

/** PostgreSQL and Redis behind a place that writes down each round trip in `seen`. */
export const recordStores = async ({ databaseUrl, redisUrl }: { databaseUrl: string; redisUrl?: string }) => {
  const seen: RoundTrip[] = []
  const postgres = await record(databaseUrl, 'postgres', listenToPostgres, seen)
  const redis = redisUrl === undefined ? undefined : await record(redisUrl, 'redis', listenToRedis, seen)
  return {
    seen,
    databaseUrl: postgres.url,
    redisUrl: redis?.url ?? '',
    close: async () => {
      await postgres.close()
      await redis?.close()
    },
  }
}
