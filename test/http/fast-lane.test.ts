import { createHmac, randomInt } from 'node:crypto'
import fc from 'fast-check'
import { pino } from 'pino'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { AccessClaims } from '#contract/access-claims.js'
import { refuse } from '#contract/outcome.js'
import { accessCheckRoutes } from '../../src/access-check/access-check.routes.js'
import { createFastLane } from '../../src/access-check/fast-lane.js'
import { forwardRoutes, type HostAnswers } from '../../src/access-check/forward.routes.js'
import { sessionCookie } from '../../src/access-check/host-addresses.js'
import { readOpenPath } from '../../src/applications/application-rules.js'
import type { ProtectedApplication } from '../../src/applications/protected-applications.js'
import { createCookies } from '../../src/http/cookies.js'
import { createIsProxy } from '../../src/http/errors.js'
import type { FastLane } from '../../src/http/limited-server.js'
import { createAllowedOrigins } from '../../src/http/origins.js'
import { createServer } from '../../src/http/server.js'
import { minutes } from '../../src/lib/durations.js'
import type { ResourceAtHost } from '../../src/openid/resources/resources-at-hosts.js'
import { StoreUnavailable } from '../../src/platform/database/database.js'
import type { CountedRequest } from '../../src/platform/metrics/metrics.js'
import { createCallers } from '../../src/sessions/callers.js'
import { asEntry, createEndedList } from '../../src/sessions/ended-sessions.js'
import { createTokens } from '../../src/sessions/tokens.js'

import { createMovableClock } from '../support/clock.js'
import { inLongRun } from '../support/long-run.js'
import { openRawConnection, type RawConnection } from '../support/raw-connection.js'
import { requestsFrom } from './fast-lane-requests.js'

const secret = 'f3a1c9e07b5d482693ae10cf7d86b24e5908d1f7a63bc4e2971d05f8ab36c7e4'
const other = '0c7d19e6a85f32b4d60ea97c15fb83d2704e9b6a8df13c5207ee49b16ad8f350'
const issuer = 'https://localhost'
const clock = createMovableClock()
const seconds = () => Math.floor(clock.now().getTime() / 1000)
const claimsOf = (username: string, expiresIn = 900) => ({
  userId: '0190c0de-0000-7000-8000-000000000001',
  username,
  sid: '0190c0de-0000-7000-8000-000000000002',
  gen: 0,
  iat: seconds(),
  exp: seconds() + expiresIn,
  email: 'ada@example.com',
  name: username,
  auth_time: seconds(),
  amr: ['pwd'],
  groups: [],
})

/** What checks read of applications behind a proxy. */
const protectedApplications = {
  find: (origin: string) => {
    const all: Record<string, Partial<ProtectedApplication>> = {
      'https://wiki.localhost': { access: 'everyone', factors: 1 },
      'https://mcp.localhost': { access: 'everyone', factors: 1 },
      'https://family.localhost': { access: 'groups', groups: ['staff'], factors: 1 },
      'https://open.localhost': { access: 'everyone', factors: 1, openPaths: [readOpenPath('/public/')] },
      'https://elsewhere.example': { access: 'everyone', factors: 1, hasOwnCookie: true },
      'https://guests.example': { access: 'groups', groups: ['guests'], factors: 1, hasOwnCookie: true },
      'https://bank.localhost': { access: 'everyone', factors: 2, maxAge: 10 * minutes },
    }
    const found = all[origin]
    return (
      found &&
      ({
        groups: [],
        openPaths: [],
        openPreflight: false,
        tokens: true,
        hasOwnCookie: false,
        ...found,
      } as unknown as ProtectedApplication)
    )
  },
}

/** There are no stores here, so each host that has a cookie of its own knows one value. Memory looks at the first of several only. */
const claimsAtHost: AccessClaims = { ...claimsOf('ada'), sub: 'ada', iss: issuer, aud: issuer, groups: ['staff'] }
const sessionAtHost = (values: readonly string[] = []) =>
  values.includes('known')
    ? {
        id: '0190c0de-0000-7000-8000-000000000003',
        sid: claimsAtHost.sid,
        userId: claimsAtHost.userId,
        claims: claimsAtHost,
        endsAt: 0,
      }
    : undefined

/** One host is a resource. There is no provider here, so no signed token is a good one. */
const resource = { address: 'https://mcp.localhost', path: '', scopeNames: ['read'] } as unknown as ResourceAtHost
const ofResources = {
  resourcesAtHosts: {
    isAny: (origin: string) => origin === 'https://mcp.localhost',
    find: (origin: string) => (origin === 'https://mcp.localhost' ? resource : undefined),
  },
  openidProvider: { open: async () => undefined },
  endedSessions: { refusesToken: () => false },
}

type Options = {
  lane: boolean
  level?: string
  trustProxy?: string[]
  origins?: string[]
  production?: boolean
  onAnswer?: (seen: CountedRequest) => void
  hasEnded?: (claims: AccessClaims) => boolean
}

/** The two routes on a server without stores. `answered` counts what the lane did not leave to the framework. */
const startService = async (given: Options) => {
  const { lane, level = 'info', trustProxy = ['127.0.0.1'], origins = [], production = true, onAnswer } = given
  const { hasEnded = () => false } = given
  const logLines: string[] = []
  const log = pino({ level }, { write: (line: string) => logLines.push(line) })
  const tokens = createTokens({ secrets: [secret], clock, issuer, hasEnded })
  const count = { answered: 0 }
  const allowedOrigins = createAllowedOrigins(origins)
  const { resourcesAtHosts } = ofResources
  const firstUses = { isKnown: () => true, note: () => undefined }
  const hostSessions = { remembered: (cookie: string | undefined) => sessionAtHost(cookie?.split('~').slice(0, 1)) }
  const isProxy = createIsProxy(trustProxy)
  const forward = { protectedApplications, resourcesAtHosts, firstUses, hostSessions, isProxy, clock }
  const offerAfterProvider = ({ gen, amr }: AccessClaims) =>
    gen === 0 && amr.includes('provider') ? 'offer' : undefined
  const boundSessions = { offerAfterProvider }
  const inner = createFastLane({ tokens, production, allowedOrigins, forward, boundSessions, onAnswer })
  const fastLane: FastLane = (request, response) => {
    const answered = inner(request, response)
    if (answered) count.answered += 1
    return answered
  }
  const publicUrl = 'https://localhost'
  const options = { log, production, publicUrl, allowedOrigins, trustProxy, ...(lane && { fastLane }) }
  const { server, state, answerUnknown } = createServer(options)
  const cookies = createCookies({ secure: true, host: 'localhost' })
  const callers = createCallers({ cookies, tokens, loadedKeys: { learn: () => undefined } })
  // There are no stores here, so nothing can be renewed.
  const rotate = async () => refuse('ended', { userId: '', sessionId: '' })
  const reserveRotation = async () => ({ granted: true, retryAfter: 0, refund: async () => undefined })
  const refused: Record<string, number> = {}
  const countRefusedCheck = (reason: string) => {
    refused[reason] = (refused[reason] ?? 0) + 1
  }
  const metrics = { countRefusedCheck, countBoundSession: () => undefined }
  accessCheckRoutes(server, { callers, cookies, tokens, rotate, reserveRotation, boundSessions, clock, log, metrics })
  const config = { publicUrl, production, trustProxy, personalTokens: 'on' as const }
  const knownTokens = { find: async () => undefined }
  const hosts: HostAnswers = {
    begin: (_request, reply) => reply.redirect('/'),
    sessionOf: async ({ headers }) => sessionAtHost(sessionCookie.read(headers.cookie)?.split('~')),
    answer: async () => refuse('not_found'),
  }
  const forwarding = {
    ...ofResources,
    callers,
    cookies,
    protectedApplications,
    knownTokens,
    firstUses,
    config,
    clock,
    log,
    metrics,
  }
  forwardRoutes(server, forwarding, hosts)
  answerUnknown((_request, reply) => reply.status(404).send('no page'))
  const port = Number(new URL(await server.listen({ host: '127.0.0.1', port: 0 })).port)
  return { port, tokens, count, refused, state, logLines, close: () => server.close() }
}

type Service = Awaited<ReturnType<typeof startService>>

const { signAccess, signRefresh } = createTokens({ secrets: [secret], clock, issuer })
/** Signs any claims with the right secret. */
const signAny = (claims: object) => {
  const [header] = signAccess(claimsOf('ada')).split('.', 1)
  const signed = `${header}.${Buffer.from(JSON.stringify(claims)).toString('base64url')}`
  return `${signed}.${createHmac('sha256', secret).update(signed).digest('base64url')}`
}
const check = (token: string, path = '/api/auth/verify', more = '') =>
  `GET ${path} HTTP/1.1\r\nHost: localhost\r\n${more}Cookie: access_token=${token}\r\n\r\n`

/** Asks on a connection of its own. */
const ask = async ({ port }: Service, ...texts: string[]) => {
  const connection = openRawConnection(port)
  try {
    const answers = []
    for (const text of texts) answers.push(await connection.ask(text))
    return answers
  } finally {
    connection.close()
  }
}

const requests = inLongRun(8_000, 1_000)
const connections = 8
const seed = Number(process.env.FUZZ_SEED ?? randomInt(2 ** 31 - 1))

describe('the fast lane and the framework', () => {
  let withLane: Service
  let without: Service
  beforeAll(async () => {
    withLane = await startService({ lane: true })
    without = await startService({ lane: false })
  })
  afterAll(() => Promise.all([withLane.close(), without.close()]))

  const compare = async (text: string, lane: RawConnection, framework: RawConnection) => {
    const answers = await Promise.all([lane.ask(text), framework.ask(text)])
    return answers[0] === answers[1] ? [] : [{ text, answers }]
  }

  it(`answer ${requests} generated requests with the same bytes, FUZZ_SEED=${seed}`, async () => {
    const names = ['ada', 'Zoë "Z" \\ 5', 'имя', '😀', 'a'.repeat(64)]
    const staff = { ...claimsOf('ada'), groups: ['admins', 'staff'] }
    // For a token of a release that had no groups.
    const { groups: _, ...withoutGroups } = { ...claimsOf('old'), sub: staff.userId, iss: issuer, aud: issuer }
    const good = [...names.map((name) => signAccess(claimsOf(name))), signAccess(staff), signAny(withoutGroups)]
    const soonExpired = signAccess(claimsOf('bob', 60))
    const bad = [
      signAccess(claimsOf('eve', -60)),
      createTokens({ secrets: [other], clock, issuer }).signAccess(claimsOf('eve')),
      signRefresh(claimsOf('eve')),
      // A token that names no issuer.
      signAny(claimsOf('eve')),
      `${good[0]}`.slice(0, -1),
      `${good[0]}x`,
    ]
    const accepted = [...good, soonExpired]
    const texts = fc.sample(requestsFrom(accepted, bad), { numRuns: requests, seed })
    const compareAll = async (part: string[]) => {
      const found = await Promise.all(
        Array.from({ length: connections }, async (_, place) => {
          const [lane, framework] = [openRawConnection(withLane.port), openRawConnection(without.port)]
          const different = []
          for (let index = place; index < part.length; index += connections)
            different.push(...(await compare(part[index] ?? '', lane, framework)))
          lane.close()
          framework.close()
          return different
        }),
      )
      return found.flat().slice(0, 3)
    }
    expect(await compareAll(texts.slice(0, requests / 2))).toEqual([])
    // Some of the tokens expire now, while they are remembered.
    clock.advance(2 * minutes)
    expect(await compareAll(texts.slice(requests / 2))).toEqual([])
    expect(withLane.count.answered).toBeGreaterThan(requests / 12)
    expect(withLane.count.answered).toBeLessThan(requests * 0.9)
    // What is refused is counted and logged alike.
    expect(withLane.refused).toEqual(without.refused)
    expect(Object.keys(withLane.refused)).toEqual(expect.arrayContaining(['expired', 'group_required', 'invalid']))
    const loggedBy = ({ logLines }: Service) =>
      new Set(
        logLines.filter((line) => line.includes('access check refused')).map((line) => JSON.parse(line).sessionId),
      )
    expect(loggedBy(withLane)).toEqual(new Set([claimsOf('ada').sid, undefined]))
    expect(loggedBy(without)).toEqual(loggedBy(withLane))
  }, 120_000)

  it('answer a proxy alike, with all headers of a visitor', async () => {
    const before = withLane.count.answered
    const proxied = (headers: string) =>
      check(
        signAccess(claimsOf('ada')),
        '/api/auth/forward',
        `X-Forwarded-Method: GET\r\nX-Forwarded-Proto: https\r\n${headers}`,
      )
    const wiki = 'X-Forwarded-Host: wiki.localhost\r\nX-Forwarded-Uri: /a\r\n'
    const texts = [
      wiki,
      `${wiki}Authorization: Basic eDp5\r\n`,
      `${wiki}Authorization: Bearer lk_wrong\r\n`,
      `${wiki}Authorization: Basic eDpsa193cm9uZw==\r\n`,
      wiki.replace('wiki', 'family'),
      wiki.replace('wiki', 'open'),
      wiki.replace('wiki.localhost\r\nX-Forwarded-Uri: /a', 'open.localhost\r\nX-Forwarded-Uri: /public/'),
      wiki.replace('wiki', 'bank'),
      wiki.replace('wiki.localhost', 'elsewhere.example'),
      `${wiki}X-Auth-Groups: staff\r\n`,
    ].map(proxied)
    const answers = await ask(withLane, ...texts)
    expect(answers).toEqual(await ask(without, ...texts))
    expect(answers.map((answer) => answer.slice(9, 12))).toEqual([
      '200',
      '200',
      '401',
      '401',
      '403',
      '200',
      '200',
      '403',
      '401',
      '400',
    ])
    expect(withLane.count.answered).toBe(before + 3)
  })

  it('answer a proxy alike at a host with a cookie of its own', async () => {
    const before = withLane.count.answered
    const proxied = (cookie: string, host = 'elsewhere.example') =>
      `GET /api/auth/forward HTTP/1.1\r\nHost: localhost\r\nX-Forwarded-Method: GET\r\nX-Forwarded-Proto: https\r\nX-Forwarded-Host: ${host}\r\nX-Forwarded-Uri: /a\r\nCookie: ${cookie}\r\n\r\n`
    const token = signAccess(claimsOf('ada'))
    const own = '__Host-latchkey=known'
    const texts = [
      proxied(own),
      proxied(`theme=dark; ${own}; access_token=${token}; access_token=${token}`),
      proxied('__Host-latchkey=known~other'),
      proxied('__Host-latchkey=other~known'),
      proxied('__Host-latchkey=other'),
      proxied(`${own}; ${own}`),
      proxied(`access_token=${token}`),
      proxied(own, 'guests.example'),
      proxied(own, 'wiki.localhost'),
      proxied(own).replace('X-Forwarded-Uri: /a', 'X-Forwarded-Uri: /.latchkey/start'),
      proxied(own).replace('\r\nCookie', '\r\nSec-Fetch-Site: cross-site\r\nCookie'),
    ]
    const answers = await ask(withLane, ...texts)
    expect(answers).toEqual(await ask(without, ...texts))
    const statuses = ['200', '200', '200', '200', '401', '401', '401', '403', '401', '404', '401']
    expect(answers.map((answer) => answer.slice(9, 12))).toEqual(statuses)
    expect(answers[1]).toMatch(/\r\ncookie: theme=dark\r\n/i)
    expect(withLane.count.answered).toBe(before + 3)
  })

  it('close the connection after a body that is announced, also behind another fault', async () => {
    const odd = 'X-Auth-Groups: staff\r\nContent-Length: 5\r\n'
    const text = `${check(signAccess(claimsOf('ada')), '/api/auth/forward', odd)}hello`
    for (const service of [withLane, without]) {
      const [answer = ''] = await ask(service, text)
      expect(answer).toMatch(/^HTTP\/1\.1 400 /)
      expect(answer).toMatch(/\r\nconnection: close\r\n/i)
    }
  })

  it('offer alike to bind a session that has just begun at a provider', async () => {
    const token = signAccess({ ...claimsOf('ada'), amr: ['provider'] })
    const texts = ['/api/auth/me', '/api/auth/verify'].map((path) => check(token, path))
    const before = withLane.count.answered
    const answers = await ask(withLane, ...texts)
    expect(answers).toEqual(await ask(without, ...texts))
    expect(answers.map((answer) => answer.includes('secure-session-registration: offer'))).toEqual([true, false])
    expect(withLane.count.answered).toBe(before + 1)
  })

  it('answer a cookie header alike in which it is unclear what counts', async () => {
    const token = signAccess(claimsOf('ada'))
    const before = withLane.count.answered
    const headers = [
      `access_token; access_token=${token}`,
      `access_token=${token}; access_token`,
      `access_token=${token}; access_token=${token}`,
      `xaccess_token=${token}`,
      `access_tokenx=${token}`,
      `a=1 access_token=${token}`,
      `access_token=${token} `,
      `access_token= ${token}; a=1`,
    ]
    const texts = headers.map((cookie) => `GET /api/auth/me HTTP/1.1\r\nHost: a\r\nCookie: ${cookie}\r\n\r\n`)
    expect(await ask(withLane, ...texts)).toEqual(await ask(without, ...texts))
    // The parser removes the space at the end of a header.
    expect(withLane.count.answered).toBe(before + 1)
  })

  it('answer pages of allowed origins alike, and others with the same word for caches', async () => {
    const origins = ['https://app.localhost']
    const pair = await Promise.all([true, false].map((lane) => startService({ lane, origins })))
    const token = signAccess(claimsOf('ada'))
    const texts = ['', 'https://app.localhost', 'https://evil.example'].flatMap((origin) => {
      const more = origin === '' ? '' : `Origin: ${origin}\r\nSec-Fetch-Site: same-site\r\n`
      return ['/api/auth/verify', '/api/auth/me'].map((path) => check(token, path, more))
    })
    const [lane = [], framework = []] = await Promise.all(
      pair.map(async (service) => (await ask(service, ...texts)).map(String)),
    )
    expect(lane).toEqual(framework)
    expect(lane.filter((answer) => /^vary: Origin\r$/im.test(answer))).toHaveLength(6)
    expect(lane.filter((answer) => /access-control-allow-origin: https:\/\/app.localhost/i.test(answer))).toHaveLength(
      2,
    )
    expect(pair[0]?.count.answered).toBe(4)
    await Promise.all(pair.map((service) => service.close()))
  })

  it('answer alike for a user all of whose sessions have ended, before and after', async () => {
    const list = createEndedList(() => clock.now().getTime())
    const hasEnded = ({ userId, iat }: AccessClaims) => list.has(userId, iat)
    const pair = await Promise.all([true, false].map((lane) => startService({ lane, hasEnded })))
    const earlier = signAccess({ ...claimsOf('ada'), iat: seconds() - 60 })
    const later = signAccess({ ...claimsOf('ada'), iat: seconds() + 1 })
    const texts = [earlier, later].flatMap((token) => [check(token), check(token, '/api/auth/me')])
    const statuses = async () => {
      const [lane = [], framework = []] = await Promise.all(pair.map((service) => ask(service, ...texts)))
      expect(lane).toEqual(framework)
      return lane.map((answer) => answer.slice(9, 12))
    }
    expect(await statuses()).toEqual(['204', '200', '204', '200'])
    list.add(asEntry({ userId: claimsOf('ada').userId, before: seconds() }))
    expect(await statuses()).toEqual(['401', '401', '204', '200'])
    await Promise.all(pair.map((service) => service.close()))
  })

  it('answer requests that arrive together in their order', async () => {
    const [ada, bob] = ['ada', 'bob'].map((name) => signAccess(claimsOf(name)))
    const burst = [check(`${ada}`), check('none'), check(`${bob}`, '/api/auth/me'), check(`${ada}`, '/api/auth/me?x=1')]
    const together = [...burst, ...burst, ...burst]
    const answersOf = async (service: Service) => {
      const connection = openRawConnection(service.port)
      const answers = await connection.askTogether(together)
      connection.close()
      return answers
    }
    const before = withLane.count.answered
    expect(await answersOf(withLane)).toEqual(await answersOf(without))
    expect(withLane.count.answered).toBe(before + 6)
  })

  it('leaves a connection to a client that has gone away without a fault', async () => {
    const token = signAccess(claimsOf('ada'))
    for (let time = 0; time < 20; time += 1) openRawConnection(withLane.port).sendAndLeave(check(token).repeat(20))
    expect((await ask(withLane, check(token)))[0]).toMatch(/^HTTP\/1\.1 204 /)
  })
})

describe('the fast lane', () => {
  const open: Service[] = []
  const start = async (options: Partial<Options>) => {
    const service = await startService({ lane: true, ...options })
    open.push(service)
    return service
  }
  afterAll(() => Promise.all(open.map(({ close }) => close())))
  const token = signAccess(claimsOf('ada'))

  it('answers from the first request with a token on', async () => {
    const service = await start({})
    await ask(service, check(token))
    expect(service.count.answered).toBe(1)
    await ask(service, check(token), check(token, '/api/auth/me'), check('x'), check(`${token}; access_token=x`))
    expect(service.count.answered).toBe(3)
    await ask(service, check(token, '/api/auth/verify?renew=1'))
    expect(service.count.answered).toBe(4)
  })

  it('leaves tokens to the framework until the ended sessions are read', async () => {
    const hasEnded = () => {
      throw new StoreUnavailable('not read yet')
    }
    const service = await start({ hasEnded })
    const answers = await ask(service, check(token), check(token, '/api/auth/me'))
    expect(answers.map((answer) => answer.slice(0, 12))).toEqual(['HTTP/1.1 503', 'HTTP/1.1 503'])
  })

  it('is not used while the service shuts down: answers close their connections', async () => {
    const service = await start({})
    const [first] = await ask(service, check(token))
    service.state.isClosing = true
    const [last] = await ask(service, check(token))
    expect(service.count.answered).toBe(1)
    expect([first, last].map((answer) => /\r\nconnection: (.*)\r\n/i.exec(answer ?? '')?.[1])).toEqual([
      'keep-alive',
      'close',
    ])
  })

  it('is not used until the service knows whether it is behind a proxy that it does not trust', async () => {
    const service = await start({ trustProxy: [] })
    const forwarded = check(token, '/api/auth/verify', 'X-Forwarded-For: 192.0.2.1\r\n')
    await ask(service, ...Array<string>(19).fill(forwarded))
    expect([service.count.answered, service.logLines.join('')]).toEqual([0, expect.not.stringContaining('TRUST_PROXY')])
    await ask(service, ...Array<string>(5).fill(forwarded))
    expect([service.count.answered, service.logLines.join('')]).toEqual([4, expect.stringContaining('TRUST_PROXY')])
  })

  it('is not used outside production for a host that is not ours', async () => {
    const service = await start({ production: false })
    const rebound = check(token).replace('Host: localhost', 'Host: rebind.attacker.example')
    const answers = await ask(service, check(token), rebound)
    expect([service.count.answered, answers[1]]).toEqual([1, expect.stringMatching(/^HTTP\/1\.1 421 /)])
  })

  it('is not used if every access check is logged', async () => {
    const service = await start({ level: 'debug' })
    await ask(service, check(token), check(token), check(token))
    expect(service.count.answered).toBe(0)
    await expect.poll(() => service.logLines.filter((line) => line.includes('"msg":"request"')).length).toBe(3)
  })

  it('reports its answers like the framework', async () => {
    const seen: CountedRequest[] = []
    const service = await start({ onAnswer: (one) => seen.push(one) })
    await ask(service, check(token), check(token, '/api/auth/me'), check('x'))
    await expect.poll(() => seen.length).toBe(2)
    const milliseconds = expect.any(Number)
    expect(seen).toEqual([
      { route: '/api/auth/verify', method: 'GET', status: 204, milliseconds },
      { route: '/api/auth/me', method: 'GET', status: 200, milliseconds },
    ])
  })

  it('reports the whole time of an answer, with the check of the token', async () => {
    const seen: CountedRequest[] = []
    const hasEnded = () => {
      for (const start = performance.now(); performance.now() - start < 50; );
      return false
    }
    const service = await start({ onAnswer: (one) => seen.push(one), hasEnded })
    await ask(service, check(token))
    await expect.poll(() => seen.length).toBe(1)
    expect(seen[0]?.milliseconds).toBeGreaterThanOrEqual(50)
  })
})
