// How many access checks the service answers per second. Each address is compared with an empty server that sends the same bytes.
import { setTimeout as sleep } from 'node:timers/promises'
import { askOnce, cookiesOf, request } from '../load/connection.mjs'
import { withCoreTime } from '../load/core-time.mjs'
import { headersOf } from '../load/headers.mjs'
import { compareInRounds, printRows } from '../load/rounds.mjs'
import { flood, hasWrk } from '../load/wrk.mjs'
import { startBareHttp } from '../subjects/limits.mjs'

/** @typedef {import('../run.mjs').BenchSetup} BenchSetup */
/** @typedef {import('../load/connection.mjs').Answer} Answer */

const connections = 32
/** Short rounds, so that both sides of a ratio see the same load of the machine. */
const plan = { rounds: 11, seconds: 1 }

/** The empty server has Node's own timer for idle connections, which adds a line. @type {(answer: Answer) => string} */
const comparable = ({ head, body }) => `${head.replaceAll(/\r\n(date|keep-alive): [^\r]*/gi, '')}\r\n\r\n${body}`

/** An empty server that gives the answer which the service gives. @param {BenchSetup['latchkey']} latchkey @param {string} path @param {string} cookie */
const startLimit = async ({ port, insidePort }, path, cookie) => {
  const ask = (/** @type {number} */ port) => askOnce(port, request('GET', path, { cookie }))
  const answer = await ask(port)
  if (answer.status >= 300) throw new Error(`${path} answered ${answer.status}`)
  const { status, head, body } = answer
  const length = status === 204 ? [] : ['content-length', String(Buffer.byteLength(body))]
  const fixed = { status, headers: [...Object.entries(headersOf(head)).flat(), ...length], body }
  const bare = await startBareHttp(fixed)
  await askOnce(insidePort, request('POST', '/', { body: fixed }))
  for (const limit of [bare.port, insidePort]) {
    if (comparable(await ask(limit)) !== comparable(answer)) throw new Error('The limit sends other bytes')
  }
  return bare
}

/** @param {string} name @param {{ port: number, pid: () => number }} server @param {string} path @param {string} cookie @param {readonly string[]} [headers] */
const candidate = (name, { port, pid }, path, cookie, headers = []) => ({
  name,
  runLoad: withCoreTime(pid(), (seconds) => flood({ port, path, cookie, headers, connections, seconds })),
})

const site = 'https://site.localhost'

/** What a proxy sends for a browser: with Host and Cookie, 25 headers. */
const proxiedHeaders = [
  'User-Agent: Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/140.0.0.0 Safari/537.36',
  'Accept: text/html,application/xhtml+xml,application/xml;q=0.9,image/avif,image/webp,*/*;q=0.8',
  'Accept-Language: en-GB,en;q=0.9,de;q=0.8',
  'Accept-Encoding: gzip, deflate, br, zstd',
  'Cache-Control: max-age=0',
  'Dnt: 1',
  'If-None-Match: "5f0c3a527d1e4b8a"',
  'Priority: u=0, i',
  `Referer: ${site}/reports`,
  'Sec-Ch-Ua: "Chromium";v="140", "Not=A?Brand";v="24"',
  'Sec-Ch-Ua-Mobile: ?0',
  'Sec-Ch-Ua-Platform: "Linux"',
  'Sec-Fetch-Dest: document',
  'Sec-Fetch-Mode: navigate',
  'Sec-Fetch-Site: same-origin',
  'Sec-Fetch-User: ?1',
  'Upgrade-Insecure-Requests: 1',
  'Via: 2.0 proxy',
  'X-Forwarded-For: 192.0.2.7',
  'X-Forwarded-Host: site.localhost',
  'X-Forwarded-Method: GET',
  'X-Forwarded-Proto: https',
  'X-Forwarded-Uri: /reports?page=2',
]

const forward = '/api/auth/forward'

/** Asks for the check of a page at the site, as its proxy does. @param {number} port @param {string} uri @param {string} cookie */
const askForSite = (port, uri, cookie) => {
  const headers = proxiedHeaders.map((line) => (line.startsWith('X-Forwarded-Uri') ? `X-Forwarded-Uri: ${uri}` : line))
  return askOnce(port, request('GET', forward, { cookie, headers }))
}

/** @param {Answer} answer */
const pathTo = (answer) => {
  const { pathname, search } = new URL(headersOf(answer.head).location ?? '', site)
  return pathname + search
}

/** A browser that is signed in comes to the site, and gets the site's own cookie. @param {number} port @param {string} cookie */
const enterSite = async (port, cookie) => {
  const start = await askForSite(port, '/reports', '')
  if (start.status !== 302) return undefined
  const consent = await askOnce(port, request('GET', pathTo(start), { cookie }))
  const cookieAtSite = cookiesOf(await askForSite(port, pathTo(consent), cookiesOf(start)))
  return (await askForSite(port, '/reports', cookieAtSite)).status === 200 ? cookieAtSite : undefined
}

/** Both checks, with the same headers. @param {BenchSetup['latchkey']} latchkey @param {string} cookie @param {string} how */
const compareForward = async (latchkey, cookie, how) => {
  await latchkey.protect(site)
  let cookieAtSite = await enterSite(latchkey.port, cookie)
  // The service follows changes once a second.
  for (let time = 0; cookieAtSite === undefined && time < 50; time += 1) {
    await sleep(200)
    cookieAtSite = await enterSite(latchkey.port, cookie)
  }
  if (cookieAtSite === undefined) throw new Error('The site lets nobody in')
  const candidates = [
    candidate('Latchkey `GET /api/auth/verify`', latchkey, '/api/auth/verify', cookie, proxiedHeaders),
    candidate(`Latchkey \`GET ${forward}\``, latchkey, forward, cookieAtSite, proxiedHeaders),
  ]
  const count = proxiedHeaders.length + 2
  printRows(`Access check of one line, ${count} headers: ${how}`, await compareInRounds(candidates, plan))
}

/** @param {NonNullable<BenchSetup['peers']>} peers */
const peerCandidates = async ({ plain, cached, express }) => {
  const plainCookie = await plain.signIn('person-0')
  const cachedCookie = await cached.signIn('person-0')
  return [
    candidate('Better Auth `get-session`, cookie cache', cached, cached.sessionPath, cachedCookie),
    candidate('Better Auth `get-session`', plain, plain.sessionPath, plainCookie),
    candidate('express, jsonwebtoken, helmet `me`', express, '/api/auth/me', await express.signIn('person-0')),
  ]
}

/** @param {BenchSetup} setup */
export const measureAccess = async ({ latchkey, peers }) => {
  const cookie = await latchkey.signIn('person-0')
  const by = (await hasWrk()) ? 'wrk' : 'our own clients'
  const how = `${connections} connections by ${by}, ${plan.rounds} rounds of ${plan.seconds} s, medians`

  /** @param {string} title @param {string} path @param {import('../load/rounds.mjs').Candidate[]} others */
  const compare = async (title, path, others) => {
    const bare = await startLimit(latchkey, path, cookie)
    try {
      const limit = candidate('limit: node:http, the same bytes', bare, path, cookie)
      const ours = candidate(`Latchkey \`GET ${path}\``, latchkey, path, cookie)
      const part = { port: latchkey.insidePort, pid: latchkey.pid }
      const within = candidate('the same server inside of the service', part, path, cookie)
      printRows(`${title}: ${how}`, await compareInRounds([limit, within, ours, ...others], plan))
    } finally {
      await bare.stop()
    }
  }
  await compare('Access check for a proxy', '/api/auth/verify', [])
  await compareForward(latchkey, cookie, how)
  await compare('Access check for a program', '/api/auth/me', peers ? await peerCandidates(peers) : [])
}
