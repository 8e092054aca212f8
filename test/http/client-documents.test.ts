import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { days, hours, minutes, seconds } from '../../src/lib/durations.js'
import type { Resource } from '../../src/openid/resources/resource.js'
import { challengeOf, newVerifier, postForm } from '../support/authorizations.js'
import type { Browser } from '../support/client.js'
import { type DocumentServer, startDocumentServer } from '../support/document-server.js'
import { goodPassword, type Latchkey, startLatchkey } from '../support/latchkey.js'
import { addResource } from '../support/resources.js'
import { until } from '../support/until.js'

// Programs that nobody registered. The attacker has a document server.

const JWT_SECRET = 'v8K2mQx7Rw4nZb1TtL6sHc9PyJ3gFd5EaN0oKi2WqXuBvCrGhSlDjMfUeApIzOYkE5x'
const resource = 'https://mcp.example.com/mcp'
const callback = 'http://127.0.0.1:41234/callback'

let folder: string
let documents: DocumentServer
let latchkey: Latchkey
let wiki: Resource
let tab: Browser
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'latchkey-documents-'))
  documents = await startDocumentServer(folder)
  const settings = { JWT_SECRET, CLIENT_DOCUMENTS: documents.host, CLIENT_DOCUMENTS_ALLOW_PRIVATE: 'true' }
  latchkey = await startLatchkey({ settings, housekeepingInterval: 1 * seconds })
  wiki = await addResource(latchkey)
  await latchkey.signedUp('ada')
})
beforeEach(async () => {
  await latchkey.sql.query('delete from counters')
  tab = latchkey.browser()
  await tab.post('/login', { username: 'ada', password: goodPassword })
})
afterAll(async () => {
  await latchkey.stop()
  await documents.stop()
  await rm(folder, { recursive: true })
})

type Body = Record<string, unknown> & {
  code?: string
  next?: string
  request?: string
  user?: { id: string }
  location?: string
}

const ask = async (clientId: string, changed: Record<string, string> = {}, by = tab, address?: string) => {
  const verifier = newVerifier()
  const parameters = new URLSearchParams({
    client_id: clientId,
    redirect_uri: callback,
    response_type: 'code',
    scope: 'read',
    resource,
    code_challenge: challengeOf(verifier),
    code_challenge_method: 'S256',
    ...changed,
  })
  const { status, body } = await by.post(
    '/api/auth/authorization',
    { parameters: parameters.toString() },
    address === undefined ? {} : { address },
  )
  return { status, body: body as Body, verifier }
}
const outcomeOf = async (...asked: Parameters<typeof ask>) => {
  const { body } = await ask(...asked)
  return body.code ?? body.next
}

/** The tokens of a user who agrees. */
const signIn = async (clientId: string, changed: Record<string, string> = {}) => {
  const { body, verifier } = await ask(clientId, changed)
  const decision = { request: body.request, user: body.user?.id, answer: 'continue' }
  const answered = (await tab.act('/api/auth/authorization/answer', decision)).body as Body
  const code = new URL(String(answered.location)).searchParams.get('code') ?? ''
  const form = { grant_type: 'authorization_code', client_id: clientId, code, code_verifier: verifier }
  return token({ ...form, redirect_uri: changed.redirect_uri ?? callback, resource })
}
const token = async (form: Record<string, string>, url = latchkey.url) =>
  (await postForm(url, '/api/auth/token', form)).body
const refresh = (clientId: string, refreshToken = '', url = latchkey.url) =>
  token({ grant_type: 'refresh_token', client_id: clientId, refresh_token: refreshToken, resource }, url)

const sessionsOf = (document: string) =>
  latchkey.sql.query(
    'select 1 from sessions as r join applications as a on a.id = r.application_id where a.document = $1',
    [document],
  )

const requestsFor = (path: string) => documents.asked.filter((each) => each === path).length
const nextDay = 1 * days + 6 * minutes

describe('a program with a document', () => {
  it('signs its user in for a resource, who sees its host beside the name that it has chosen', async () => {
    const id = documents.serve('/helper.json', {
      redirect_uris: ['http://localhost/callback', 'http://127.0.0.1/callback'],
    })
    const { body } = await ask(id)
    expect(body).toMatchObject({
      next: 'consent',
      application: { name: `Helper (${documents.host})` },
      ownSession: { host: documents.host, destination: { kind: 'computer' } },
      resource: { name: 'Wiki tools', scopes: [{ name: 'read', description: 'Read pages' }] },
    })
    const tokens = await signIn(id, { redirect_uri: 'http://localhost:3118/callback' })
    expect(tokens).toMatchObject({ token_type: 'Bearer', scope: 'read', expires_in: 300 })
    expect((await refresh(id, tokens.refresh_token)).access_token).toEqual(expect.any(String))
    const { sessions } = (await tab.get('/api/auth/sessions')).body as { sessions: { resource: string | null }[] }
    expect(sessions.filter((each) => each.resource === 'Wiki tools')).toHaveLength(1)
    expect(requestsFor('/helper.json')).toBe(1)
    const { text } = await latchkey.mailTo('ada@example.com', /A program has signed in/)
    const shown = text.replaceAll('\u200b', '')
    expect(shown).toContain(`The program “Helper (${documents.host})” can now use “Wiki tools” with your account ada`)
    expect(shown).toMatch(/IP address of the program: \S+\. Time: .* UTC\./)
    // Its end is one click away, and nothing says that all devices must be signed out.
    expect(text.match(/https?:\S+/g)).toEqual([`${latchkey.url}/api/auth/account-page#devices`])
    expect(text).not.toMatch(/Unknown device|all devices/)
  })

  it('gets nothing without a resource, and no secret helps it', async () => {
    const id = documents.serve('/bare.json')
    const { body } = await ask(id, { resource: '', scope: 'openid' })
    expect(new URL(String(body.location)).searchParams.get('error')).toBe('invalid_target')
    const form = { grant_type: 'refresh_token', client_id: id, refresh_token: 'x', client_secret: 'x' }
    expect(await token(form)).toMatchObject({ error: 'invalid_client' })
    await expect(refresh(id, 'x')).resolves.toMatchObject({ error: 'invalid_grant' })
  })

  it('is not known to the token endpoint before its user was asked, and causes no request there', async () => {
    const id = documents.serve('/unasked.json')
    expect(await refresh(id, 'x')).toMatchObject({ error: 'invalid_client' })
    const form = { client_id: id, token: 'x' }
    expect((await postForm(latchkey.url, '/api/auth/revoke', form)).body).toMatchObject({ error: 'invalid_client' })
    expect(requestsFor('/unasked.json')).toBe(0)
  })

  it('cannot take the name of an application, nor keep an operator from giving it', async () => {
    const id = documents.serve('/impostor.json', { client_name: 'Notes' })
    expect((await ask(id)).body).toMatchObject({ application: { name: `Notes (${documents.host})` } })
    const { applications } = latchkey.app.rooms
    expect(await applications.findByName(`Notes (${documents.host})`)).toBeUndefined()
    expect(await applications.find(id)).toMatchObject({ kind: 'document', document: id })
  })

  it('is asked for again by each program that says that it is this one', async () => {
    const id = documents.serve('/known.json')
    await signIn(id)
    expect(await outcomeOf(id, { redirect_uri: 'http://127.0.0.1:50999/callback' })).toBe('consent')
    const { body } = await ask(id, { prompt: 'none' })
    expect(new URL(String(body.location)).searchParams.get('error')).toBe('consent_required')
  })
})

describe('is refused, and nothing is sent to its addresses:', () => {
  it.each([
    ['a host that is not on the list', () => 'https://evil.example.com/x.json', 'program_not_allowed'],
    ['an address that is not well-formed', () => `${documents.idOf('/x.json')}?y`, 'program_not_allowed'],
    [
      'another id inside',
      () => documents.serve('/other-id.json', { client_id: 'https://claude.ai/x' }),
      'program_document_refused',
    ],
    [
      'a document with a secret',
      () => documents.serve('/secret.json', { client_secret: 'x' }),
      'program_document_refused',
    ],
    [
      'one of another type',
      () => documents.serve('/type.json', {}, { 'content-type': 'text/html' }),
      'program_document_refused',
    ],
    [
      'one with 2 MB',
      () => documents.serve('/large.json', { client_uri: 'x'.repeat(2_000_000) }),
      'program_document_refused',
    ],
    [
      'one that is compressed',
      () => documents.serve('/zip.json', {}, { 'content-encoding': 'gzip' }),
      'program_document_refused',
    ],
    ['one that is not there', () => documents.idOf('/missing.json'), 'program_document_refused'],
    [
      'one that redirects',
      () => {
        const target = documents.serve('/target.json')
        return documents.answer('/redirect.json', (response) => response.writeHead(302, { location: target }).end())
      },
      'program_document_refused',
    ],
    [
      'an address that is not among its own',
      () => documents.serve('/elsewhere.json', { redirect_uris: ['https://a.example/cb'] }),
      'redirect_not_registered',
    ],
  ])('%s', async (_, idOf, code) => {
    const { status, body } = await ask(idOf())
    expect([status, body.code, body.location]).toEqual([400, code, undefined])
  })

  it('one at a private address, where that is not allowed', async () => {
    const { databaseUrl, redisPrefix, publicUrl } = latchkey.config
    const strict = await startLatchkey({
      settings: {
        JWT_SECRET,
        DATABASE_URL: databaseUrl,
        REDIS_PREFIX: redisPrefix,
        PUBLIC_URL: publicUrl,
        CLIENT_DOCUMENTS: `${documents.host},127.0.0.1,[::1]`.replace(',[::1]', ''),
      },
    })
    try {
      const id = documents.serve('/private.json')
      const url = `http://127.0.0.1:${strict.config.port}`
      const send = (clientId: string) =>
        fetch(new URL('/api/auth/authorization', url), {
          method: 'POST',
          headers: { 'content-type': 'application/json', origin: publicUrl, 'sec-fetch-site': 'same-origin' },
          body: JSON.stringify({ parameters: new URLSearchParams({ client_id: clientId }).toString() }),
        }).then(async (answer) => ((await answer.json()) as { code: string }).code)
      expect(await send(id)).toBe('program_document_refused')
      expect(await send('https://127.0.0.1/x.json')).toBe('program_document_refused')
      expect(requestsFor('/private.json')).toBe(0)
    } finally {
      await strict.stop()
    }
  })
})

describe('the copy of a document', () => {
  // A session is older than its access token in most of these tests, so nobody is signed in.
  beforeEach(() => {
    tab = latchkey.browser()
  })
  const signInAgain = () => tab.post('/login', { username: 'ada', password: goodPassword })

  it('is kept as its headers say, for at least five minutes, and failures are not kept', async () => {
    const id = documents.idOf('/later.json')
    expect(await outcomeOf(id)).toBe('program_document_refused')
    documents.serve('/later.json', {}, { 'cache-control': 'max-age=3600' })
    expect(await outcomeOf(id)).toBe('sign_in')
    await latchkey.advance(59 * minutes)
    expect(await outcomeOf(id)).toBe('sign_in')
    expect(requestsFor('/later.json')).toBe(2)
    await latchkey.advance(2 * minutes)
    expect(await outcomeOf(id)).toBe('sign_in')
    expect(requestsFor('/later.json')).toBe(3)
  })

  it('serves one more day while the document cannot be reached, and no longer', async () => {
    const id = documents.serve('/away.json')
    await signInAgain()
    await signIn(id)
    tab = latchkey.browser()
    documents.answer('/away.json', (response) => response.writeHead(503).end())
    await latchkey.advance(10 * minutes)
    expect(await outcomeOf(id)).toBe('sign_in')
    documents.answer('/away.json', (response) => response.destroy())
    await latchkey.advance(23 * hours)
    expect(await outcomeOf(id)).toBe('sign_in')
    await latchkey.advance(1 * hours)
    expect(await outcomeOf(id)).toBe('program_document_refused')
  })

  it('does not stand in for a document that says something else by now', async () => {
    const id = documents.serve('/changed.json')
    await signInAgain()
    await signIn(id)
    await latchkey.advance(6 * minutes)
    documents.serve('/changed.json', { client_id: 'https://claude.ai/x' })
    expect(await outcomeOf(id)).toBe('program_document_refused')
    documents.answer('/changed.json', (response) => response.writeHead(404).end())
    expect(await outcomeOf(id)).toBe('program_document_refused')
  })

  it('that changes between the request and the code counts as it is then', async () => {
    const id = documents.serve('/moving.json')
    await signInAgain()
    const { body, verifier } = await ask(id)
    const decision = { request: body.request, user: body.user?.id, answer: 'continue' }
    await latchkey.advance(6 * minutes)
    documents.serve('/moving.json', { redirect_uris: ['http://127.0.0.1/other'] })
    expect(await outcomeOf(id, { redirect_uri: 'http://127.0.0.1:1/other' }, latchkey.browser())).toBe('sign_in')
    const answered = (await tab.act('/api/auth/authorization/answer', decision)).body as Body
    expect([answered.next, answered.location]).toEqual(['start_again', undefined])
    expect(verifier).toHaveLength(43)
  })

  it('is fetched once by many who ask at the same time, and by no network too often', async () => {
    const id = documents.serve('/crowd.json')
    await signInAgain()
    await Promise.all(Array.from({ length: 20 }, () => ask(id)))
    expect(requestsFor('/crowd.json')).toBe(1)
    const flood = (at: number) => ask(documents.idOf(`/flood-${at}.json`), {}, tab, '203.0.113.9')
    for (let at = 0; at < 30; at += 1) expect((await flood(at)).status).toBe(400)
    expect((await flood(30)).status).toBe(429)
    expect(requestsFor('/flood-30.json')).toBe(0)
    // What is known goes on, also when the copy is not fresh any more.
    expect(await outcomeOf(id, {}, tab, '203.0.113.9')).toBe('consent')
    await latchkey.advance(6 * minutes)
    expect(await outcomeOf(id, {}, tab, '203.0.113.9')).toBe('consent')
    expect(requestsFor('/crowd.json')).toBe(1)
  })

  it('is still fetched for who is signed in while strangers of many networks ask for others', async () => {
    const flood = (at: number, address: string) =>
      ask(documents.idOf(`/strange-${at}-${address}.json`), {}, latchkey.browser(), address)
    await latchkey.advance(2 * minutes)
    const statuses = []
    for (let at = 0; at < 32; at += 1) statuses.push((await flood(at, `198.51.100.${at}`)).status)
    expect(statuses).toEqual([...Array.from({ length: 30 }, () => 400), 429, 429])
    await signInAgain()
    expect(await outcomeOf(documents.serve('/wanted.json'))).toBe('consent')
    // One site is one network, however many it has of its own.
    await latchkey.advance(2 * minutes)
    for (let at = 0; at < 30; at += 1) expect((await flood(at, `2001:db8:5:${at.toString(16)}00::1`)).status).toBe(400)
    await latchkey.advance(2 * minutes)
    expect((await flood(30, '2001:db8:5:ff00::1')).status).toBe(429)
  })

  it('that nobody uses is deleted after a day, and one with a session stays', async () => {
    await signInAgain()
    const [unused, used] = [documents.serve('/unused.json'), documents.serve('/used.json')]
    await ask(unused)
    await signIn(used)
    await latchkey.advance(nextDay)
    const { applications } = latchkey.app.rooms
    await until('the copy is deleted', async () => (await applications.find(unused)) === undefined)
    expect((await applications.find(used))?.document).toBe(used)
  })
})

describe('a host that was taken off the list', () => {
  it('ends the sessions of its programs, which are told to sign in again', async () => {
    const id = documents.serve('/forbidden.json')
    const tokens = await signIn(id)
    const { databaseUrl, redisPrefix, publicUrl } = latchkey.config
    const settings = { JWT_SECRET, DATABASE_URL: databaseUrl, REDIS_PREFIX: redisPrefix, PUBLIC_URL: publicUrl }
    const without = await startLatchkey({
      settings: { ...settings, CLIENT_DOCUMENTS: 'claude.ai' },
      clock: latchkey.clock,
      housekeepingInterval: 1 * seconds,
    })
    try {
      const url = `http://127.0.0.1:${without.config.port}`
      expect(await refresh(id, tokens.refresh_token, url)).toMatchObject({ error: 'invalid_grant' })
      await until('its session has ended', async () => (await sessionsOf(id)).length === 0)
      expect(await refresh(id, tokens.refresh_token)).toMatchObject({ error: 'invalid_grant' })
    } finally {
      await without.stop()
    }
  })

  it('ends with the resource, too', async () => {
    const id = documents.serve('/ending.json')
    const tokens = await signIn(id)
    await latchkey.sql.query('delete from resources where id = $1', [wiki.id])
    expect(await refresh(id, tokens.refresh_token)).toMatchObject({ error: 'invalid_grant' })
  })
})
