import { generateKeyPairSync, type KeyObject, sign } from 'node:crypto'
import type { Clock } from '../../src/lib/clock.js'
import { type Answer, type Browser, createBrowser } from './client.js'
import { createCookieJar } from './cookie-jar.js'

export type DeviceKey = { privateKey: KeyObject; jwk: object }
export const newDeviceKey = (namedCurve = 'P-256'): DeviceKey => {
  const { privateKey, publicKey } = generateKeyPairSync('ec', { namedCurve })
  return { privateKey, jwk: publicKey.export({ format: 'jwk' }) }
}

const encoded = (part: object) => Buffer.from(JSON.stringify(part)).toString('base64url')

/** A proof as browsers make it. `header` replaces its members, so that a test can misbehave. */
export const signProof = ({ privateKey }: Pick<DeviceKey, 'privateKey'>, challenge: string, header: object = {}) => {
  const text = `${encoded({ alg: 'ES256', typ: 'dbsc+jwt', ...header })}.${encoded({ jti: challenge })}`
  const signature = sign('sha256', Buffer.from(text), { key: privateKey, dsaEncoding: 'ieee-p1363' })
  return `${text}.${signature.toString('base64url')}`
}

export const challengeIn = ({ headers }: Answer, header: 'registration' | 'challenge') =>
  /(?:challenge=|^)"([^"]+)"/.exec(
    headers.get(`secure-session-${header}`)?.replace(/^.*?;path="[^"]*";/, '') ?? '',
  )?.[1]

type Instructions = { session_identifier: string; refresh_url: string; credentials: { name: string }[] }
type Session = { id: string; refreshUrl: string; cookie: string; key: DeviceKey; lastProof?: string }

/**
 * A browser that binds sessions to its device: it registers when it is offered that, and asks for new tokens before a request whenever the
 * bound cookie is missing. `wire` sees each of its own two requests, and may answer in the place of the service.
 */
export const createBoundBrowser = (
  { url, clock }: { url: string; clock: Clock },
  { jar = createCookieJar([], clock), reached = url } = {},
) => {
  const tab = createBrowser(url, jar, reached)
  const sessions = new Map<string, Session>()
  const device = { sessions, key: newDeviceKey(), binds: true, wire: undefined as undefined | ((path: string) => void) }

  const sendItself: Browser['send'] = async (method, path, body, options) => {
    device.wire?.(path)
    return tab.send(method, path, body, { ...options, byBrowser: true })
  }

  const follow = ({ body }: Answer, key: DeviceKey, lastProof?: string) => {
    const { session_identifier: id, refresh_url: refreshUrl, credentials } = body as Instructions
    for (const { name: cookie } of credentials)
      sessions.set(id, { id, refreshUrl, cookie, key, ...(lastProof && { lastProof }) })
  }

  const register = async (offer: string) => {
    const path = /path="([^"]+)"/.exec(offer)?.[1] ?? ''
    const challenge = /challenge="([^"]+)"/.exec(offer)?.[1] ?? ''
    const { key } = device
    const proof = signProof(key, challenge, { jwk: key.jwk })
    const answer = await sendItself('POST', path, undefined, { headers: { 'secure-session-response': proof } })
    if (answer.status === 200) follow(answer, key)
    return answer
  }

  /** As Chromium: the last proof goes first, each challenge is answered, 5xx keeps the session, and every other refusal ends it. */
  const refresh = async (session: Session): Promise<string | undefined> => {
    let proof = session.lastProof
    for (let round = 0; round < 3; round += 1) {
      const headers = { 'sec-secure-session-id': session.id, ...(proof && { 'secure-session-response': proof }) }
      const answer = await sendItself('POST', session.refreshUrl, undefined, { headers }).catch(() => undefined)
      if (!answer) return `unreachable;session_identifier="${session.id}"`
      if (answer.status >= 500) return `server_error;session_identifier="${session.id}"`
      if (answer.status === 200) {
        follow(answer, session.key, proof)
        return undefined
      }
      const challenge = challengeIn(answer, 'challenge')
      if (answer.status !== 403 || challenge === undefined) break
      proof = signProof(session.key, challenge)
    }
    sessions.delete(session.id)
    return undefined
  }

  let running: Promise<string[]> | undefined
  const refreshAll = async () => {
    const skipped: string[] = []
    for (const session of [...sessions.values()]) {
      jar.header()
      if (jar.has(session.cookie)) continue
      const why = await refresh(session)
      if (why) skipped.push(why)
    }
    return skipped
  }

  const send: Browser['send'] = async (method, path, body, options) => {
    running ??= refreshAll().finally(() => {
      running = undefined
    })
    const skipped = await running
    const headers = { ...options?.headers, ...(skipped.length > 0 && { 'secure-session-skipped': skipped.join(', ') }) }
    const answer = await tab.send(method, path, body, { ...options, headers })
    const offer = answer.headers.get('secure-session-registration')
    if (offer && device.binds) await register(offer)
    return answer
  }

  return {
    ...tab,
    device,
    register,
    refresh,
    send,
    get: (path: string) => send('GET', path),
    post: (path: string, body?: unknown) => send('POST', path, body),
    /** The page asks for its CSRF token first, as every request. */
    act: async (path: string, body?: unknown) => {
      const { body: asked } = await send('GET', '/api/auth/csrf-token')
      return send('POST', path, body, { headers: { 'x-csrf-token': String(asked.csrfToken) } })
    },
  }
}

export type BoundBrowser = ReturnType<typeof createBoundBrowser>
