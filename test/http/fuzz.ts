import { Agent, request as send } from 'node:http'
import { setTimeout as wait } from 'node:timers/promises'
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import fc from 'fast-check'
import { type FuzzRequest, type Operation, requestsTo } from './fuzz-requests.js'

export type Credentials = { accessToken: string; refreshToken: string; csrfSecret: string; csrfToken: string }

export type Failure = { kind: 'server error' | 'no answer' | 'slow' | 'memory'; says: string }

type Options = {
  url: string
  operations: readonly Operation[]
  /** At least. */
  requests: number
  seed: number
  /** A new session of the tester: the requests end some of them. */
  signIn?: () => Promise<Credentials>
  /** In milliseconds. */
  slowest?: number
  /** Collecting the garbage of a test process takes longer than many requests. */
  watchesMemory?: boolean
}

type Answer = { status: number; body: string; milliseconds: number }

const atOnce = 8
const requestsInChunk = 100
const heapBound = 12 * 1024 * 1024

setFlagsFromString('--expose-gc')
const collectGarbage = runInNewContext('gc') as () => void

const heapUsed = async () => {
  // Twice with a pause, so that what is closed and timed out meanwhile is gone as well.
  collectGarbage()
  await new Promise((resolve) => setTimeout(resolve, 100))
  collectGarbage()
  return process.memoryUsage().heapUsed
}

const cookiesFor = ({ session, csrf, cookies }: FuzzRequest, known: Credentials | undefined) => {
  const pairs = known
    ? [
        ...(session === 'both' || session === 'access' ? [`access_token=${known.accessToken}`] : []),
        ...(session === 'both' || session === 'refresh' ? [`refresh_token=${known.refreshToken}`] : []),
        ...(csrf === 'ours' ? [`csrf_secret=${known.csrfSecret}`] : []),
      ]
    : []
  return [...pairs, cookies].filter((each) => each !== '').join('; ')
}

const headersFor = (request: FuzzRequest, known: Credentials | undefined) => {
  const cookie = cookiesFor(request, known)
  const token = request.csrf === 'ours' ? known?.csrfToken : request.csrf === 'odd' ? 'x.y' : undefined
  return {
    ...request.headers,
    ...(cookie && { cookie }),
    ...(token && { 'x-csrf-token': token }),
    ...(request.body && { 'content-length': String(request.body.length) }),
  }
}

const ask = (url: string, agent: Agent, request: FuzzRequest, known: Credentials | undefined) =>
  new Promise<Answer>((resolve, reject) => {
    const begun = performance.now()
    const { hostname, port } = new URL(url)
    const { method, path, body } = request
    const outgoing = send({ hostname, port, agent, method, path, headers: headersFor(request, known) }, (answer) => {
      let text = ''
      answer.setEncoding('utf8').on('data', (part: string) => {
        text += part
      })
      answer.on('end', () =>
        resolve({ status: answer.statusCode ?? 0, body: text, milliseconds: performance.now() - begun }),
      )
      answer.on('error', reject)
    })
    outgoing.setTimeout(20_000, () => outgoing.destroy(new Error('no answer within 20 seconds')))
    outgoing.on('error', reject).end(body)
  })

/** Enough to recognise it by; the seed brings it back whole. */
const shown = ({ method, path, session, csrf, cookies, headers, body }: FuzzRequest) =>
  JSON.stringify(
    { method, path, session, csrf, body: body?.toString('latin1'), headers, cookies },
    (_, value: unknown) =>
      typeof value === 'string' && value.length > 300 ? `${value.slice(0, 300)}… (${value.length})` : value,
  )

/** The machine may have been busy: a request is slow when it is slow alone, each time. */
const fastestAlone = async (slowest: number, again: () => Promise<Answer>) => {
  let fastest = Number.POSITIVE_INFINITY
  for (let round = 0; round < 4 && fastest > slowest; round += 1)
    fastest = Math.min(fastest, (await again()).milliseconds)
  return fastest
}

/** Sends random requests, to each operation as many, and says which of them the service did not take as it should. */
export const fuzz = async (options: Options): Promise<Failure[]> => {
  const { url, operations, requests, seed, signIn, slowest = 1_000, watchesMemory = true } = options
  const oneToEach = fc
    .tuple(...operations.map(requestsTo))
    .chain((each) => fc.shuffledSubarray(each, { minLength: each.length }))
  const rounds = Math.max(1, Math.round(requestsInChunk / operations.length))
  const agent = new Agent({ keepAlive: true, maxSockets: atOnce })
  const failures: Failure[] = []
  const slow: { request: FuzzRequest; known: Credentials | undefined; milliseconds: number }[] = []
  let known: Credentials | undefined
  let heapBefore = 0

  const tryOne = async (request: FuzzRequest) => {
    const mine = known
    // A connection that was kept may just have been closed: asked again, a sound server answers.
    const again = () => ask(url, agent, request, mine)
    let answer = await again()
      .catch(again)
      .catch((error: Error) => error)
    // The queue of password checks may be full, and on a busy machine a store may be late. Asked again, both answer.
    for (let tries = 0; tries < 10 && 'status' in answer && answer.status === 503; tries += 1) {
      await wait(500)
      answer = await again().catch((error: Error) => error)
    }
    if (answer instanceof Error) failures.push({ kind: 'no answer', says: `${answer.message}: ${shown(request)}` })
    else if (answer.status >= 500) failures.push({ kind: 'server error', says: `${answer.status}: ${shown(request)}` })
    else if (answer.milliseconds > slowest) slow.push({ request, known: mine, milliseconds: answer.milliseconds })
  }

  const runChunk = async (number: number) => {
    if (signIn) known = await signIn()
    const waiting = fc.sample(oneToEach, { seed: seed + number, numRuns: rounds }).flat()
    const work = async () => {
      for (let next = waiting.pop(); next; next = waiting.pop()) await tryOne(next)
    }
    await Promise.all(Array.from({ length: atOnce }, work))
  }

  const chunks = Math.ceil(requests / (rounds * operations.length))
  for (let number = 0; number < chunks; number += 1) {
    await runChunk(number)
    // By now everything that is made once has been made.
    if (watchesMemory && number === Math.floor(chunks / 3)) heapBefore = await heapUsed()
  }
  const growth = watchesMemory ? (await heapUsed()) - heapBefore : 0
  if (growth > heapBound)
    failures.push({ kind: 'memory', says: `${Math.round(growth / 1024 / 1024)} MB more than before` })

  slow.sort((left, right) => right.milliseconds - left.milliseconds)
  for (const { request, known: mine } of slow.slice(0, 30)) {
    if (failures.filter(({ kind }) => kind === 'slow').length >= 2) break
    const fastest = await fastestAlone(slowest, () => ask(url, agent, request, mine))
    if (fastest > slowest) failures.push({ kind: 'slow', says: `${Math.round(fastest)} ms: ${shown(request)}` })
  }
  agent.destroy()
  return failures
}
