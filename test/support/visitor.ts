import { request } from 'node:http'

export type VisitorRequest = { method?: string; body?: URLSearchParams; headers?: Record<string, string> }
type Seen = { status: number; headers: Headers; text: string }

/** A navigation: programs that protect pages answer a script in another way. `fetch` is one and says so. */
const navigation = { accept: 'text/html', 'sec-fetch-mode': 'navigate', 'sec-fetch-dest': 'document' }

const send = (address: string, cookie: string, { method = 'GET', body, headers: more }: VisitorRequest) =>
  new Promise<Seen>((resolve, reject) => {
    const headers = {
      ...navigation,
      ...(cookie && { cookie }),
      ...(body && { 'content-type': 'application/x-www-form-urlencoded' }),
      ...more,
    }
    const sent = request(address, { method, headers }, async (answer) => {
      const chunks: Buffer[] = []
      for await (const chunk of answer) chunks.push(chunk as Buffer)
      const pairs = Object.entries(answer.headersDistinct).flatMap(([name, values = []]) =>
        values.map((value): [string, string] => [name, value]),
      )
      resolve({
        status: answer.statusCode ?? 0,
        headers: new Headers(pairs),
        text: Buffer.concat(chunks).toString(),
      })
    })
    sent.on('error', reject).end(body?.toString())
  })

/** A browser at sites that are not ours: it keeps their cookies, and follows a redirect only when it is told to. */
export const createVisitor = () => {
  const cookies = new Map<string, string>()
  return async (address: string, sent: VisitorRequest = {}) => {
    const cookie = [...cookies].map((pair) => pair.join('=')).join('; ')
    const answer = await send(address, cookie, sent)
    for (const line of answer.headers.getSetCookie()) {
      const [pair = ''] = line.split(';')
      const equals = pair.indexOf('=')
      cookies.set(pair.slice(0, equals), pair.slice(equals + 1))
    }
    return answer
  }
}
