import { createHash, createHmac, createPublicKey, generateKeyPairSync, sign } from 'node:crypto'
import { createLocalJWKSet, type JSONWebKeySet, jwtVerify } from 'jose'
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest'
import { checkApplicationKeys } from '../../src/commands/doctor/accounts.js'
import { sealedColumns } from '../../src/keys/sealed-columns.js'
import { createSealedValues } from '../../src/keys/sealed-values.js'
import { createLoadedApplicationKeys, headerFor, unsignedToken } from '../../src/keys/signed-token.js'
import { createSigningKeys, idTokenKeys } from '../../src/keys/signing-keys.js'
import { days, hours, minutes } from '../../src/lib/durations.js'
import type { Database } from '../../src/platform/database/database.js'
import { createMovableClock } from '../support/clock.js'
import { secretOf } from '../support/site/instance.js'
import { openPostgresStore, type TestStore } from '../support/stores.js'

const secret = secretOf('s')
const claims = { iss: 'https://app.example.com/api/auth', sub: 'ada' }
const kidOf = (token: string): string => JSON.parse(Buffer.from(token.split('.')[0] ?? '', 'base64url').toString()).kid

/** The keys of one process, read when the test says so; and what it logged. */
const processOn = (database: Database, { clock = createMovableClock(), sealing = [secret] } = {}) => {
  const logged: string[] = []
  const note = (_details: object, message: string) => void logged.push(message)
  const sealedValues = createSealedValues(sealing, sealedColumns)
  const stored = createSigningKeys(idTokenKeys, { database, clock, sealedValues })
  const log = { info: note, warn: note, error: note }
  const loaded = createLoadedApplicationKeys({ applicationKeys: stored, clock, log })
  const publishedIds = async () => (await loaded.published()).keys.map(({ kid }) => kid)
  const sign = (algorithm: 'RS256' | 'ES256' = 'ES256') => loaded.sign(algorithm, { typ: 'JWT', claims })
  const signLogout = (algorithm: 'RS256' | 'ES256') => loaded.sign(algorithm, { typ: 'logout+jwt', claims })
  return { ...loaded, stored, sign, signLogout, publishedIds, clock, logged }
}

describe('application keys', () => {
  let store: TestStore
  let sql: Database
  beforeAll(async () => {
    store = await openPostgresStore()
    sql = store.database
  })
  afterEach(async () => {
    await sql.query('delete from application_keys')
    await sql.query('delete from applications')
  })
  afterAll(async () => {
    await store.drop()
  })
  const addApplication = (algorithm: 'RS256' | 'ES256') =>
    sql.query(
      `insert into applications (id, name, home, kind, redirect_addresses, access, consent, pkce, algorithm, created_at)
       values ($1, $1, 'https://a.example', 'web', '{https://a.example/cb}', 'everyone', 'none', true, $1, now())`,
      [algorithm],
    )
  const rows = () =>
    sql.query<{ id: string; algorithm: string; private_key: string | null }>(
      'select id, algorithm, private_key from application_keys order by signs_from',
    )

  it('are made for the algorithms that applications use, and an outside library takes their tokens', async () => {
    const one = processOn(sql)
    expect(await one.published()).toEqual({ keys: [] })
    await addApplication('RS256')
    await one.load()
    expect((await one.published()).keys).toEqual([
      {
        kty: 'RSA',
        n: expect.stringMatching(/^[\w-]{342}$/),
        e: 'AQAB',
        kid: expect.any(String),
        alg: 'RS256',
        use: 'sig',
      },
    ])
    await addApplication('ES256')
    // Not read yet: the first token of an algorithm makes its key.
    const tokens = [await one.sign('RS256'), await one.sign('ES256')]
    const keySet = (await one.published()) as JSONWebKeySet
    expect(keySet.keys.map(({ alg }) => alg)).toEqual(['RS256', 'ES256'])
    for (const token of tokens) {
      const { payload, protectedHeader } = await jwtVerify(token, createLocalJWKSet(keySet))
      expect(payload).toEqual(claims)
      expect(Object.keys(protectedHeader)).toEqual(['alg', 'typ', 'kid'])
      expect(await one.readSigned(token)).toEqual(claims)
    }
  })

  it('are one for each algorithm when two instances start at once, and both know it', async () => {
    await addApplication('RS256')
    await addApplication('ES256')
    const [one, two] = [processOn(sql), processOn(await store.another())]
    await Promise.all([one.load(), two.load()])
    expect((await rows()).map(({ algorithm }) => algorithm).toSorted()).toEqual(['ES256', 'RS256'])
    expect(await two.readSigned(await one.sign('RS256'))).toEqual(claims)
    expect(await one.readSigned(await two.sign('ES256'))).toEqual(claims)
  })

  it('are published a day before they sign, and a day after their last token; then the public half is kept for a year', async () => {
    await addApplication('ES256')
    const { clock, ...one } = processOn(sql)
    await one.load()
    const oldToken = await one.sign()
    const first = kidOf(oldToken)

    clock.advance(89 * days + 1 * minutes)
    await one.load()
    const [, second] = await one.publishedIds()
    expect(kidOf(await one.sign())).toBe(first)
    clock.advance(24 * hours - 5 * minutes)
    expect(kidOf(await one.sign())).toBe(first)
    // By the time alone: nothing is read in between.
    clock.advance(10 * minutes)
    expect(kidOf(await one.sign())).toBe(second)
    clock.advance(24 * hours)
    await one.load()
    expect(await one.publishedIds()).toEqual([first, second])
    clock.advance(15 * minutes)
    await one.load()
    expect(await one.publishedIds()).toEqual([second])

    expect(await one.stored.purge(sql)).toBe(1)
    expect((await rows()).map(({ private_key: key }) => key === null)).toEqual([true, false])
    await one.load()
    expect(await one.readSigned(oldToken)).toEqual(claims)
    expect((await one.stored.list()).map(({ state }) => state)).toEqual(['hints', 'current'])
    clock.advance(365 * days)
    expect(await one.stored.purge(sql)).toBe(1)
    expect((await rows()).map(({ id }) => id)).toEqual([second])
    await one.load()
    expect(await one.readSigned(oldToken)).toBeUndefined()
  })

  it('are replaced at once when one was stolen, and then its tokens are no hints either', async () => {
    await addApplication('ES256')
    const one = processOn(sql)
    const stolen = await one.sign()
    const { made, removed } = await one.stored.replaceAll()
    expect(removed).toEqual([kidOf(stolen)])
    await one.load()
    expect(await one.readSigned(stolen)).toBeUndefined()
    expect(kidOf(await one.sign())).toBe(made[0]?.id)
  })

  it('rotate on request, once', async () => {
    await addApplication('ES256')
    const one = processOn(sql)
    await one.load()
    const [next] = (await one.stored.rotate()) ?? []
    expect(next).toMatchObject({ isNew: true, algorithm: 'ES256' })
    expect(await one.stored.rotate()).toMatchObject([{ id: next?.id, isNew: false }])
  })

  it('are sealed, and neither published nor used by an instance that cannot open them', async () => {
    await addApplication('ES256')
    const one = processOn(sql)
    const token = await one.sign()
    const [row] = await rows()
    expect(row?.private_key).toMatch(/^[\w-]{8}\.[\w.-]+$/)
    const other = processOn(sql, { sealing: [secretOf('other')] })
    await other.load()
    await other.load()
    expect(other.logged).toEqual([expect.stringContaining('SEALING_KEY')])
    expect(await other.publishedIds()).toEqual([])
    await expect(other.sign()).rejects.toThrow('no key for ES256')
    expect(await other.readSigned(token)).toBeUndefined()
    expect(await rows()).toHaveLength(1)
  })

  it('go on, published and signing, beside a newer row that something else wrote into the table', async () => {
    await addApplication('ES256')
    const one = processOn(sql)
    const own = kidOf(await one.sign())
    await sql.query(
      `insert into application_keys
       select 'planted', algorithm, private_key, public_key, created_at, signs_from + interval '1 minute' from application_keys`,
    )
    one.clock.advance(10 * days)
    await one.load()
    expect(one.logged.at(-1)).toContain('SEALING_KEY')
    expect(await one.stored.purge(sql)).toBe(0)
    await one.load()
    const token = await one.sign()
    expect([kidOf(token), await one.publishedIds()]).toEqual([own, [own]])
    expect(await one.readSigned(token)).toEqual(claims)
    expect((await one.stored.list()).map(({ state }) => state)).toEqual(['current', 'unopened'])
  })

  it('count no retired key that something else wrote into the table, and go on with the others', async () => {
    await addApplication('ES256')
    const one = processOn(sql)
    const token = await one.sign()
    const foreign = generateKeyPairSync('ec', { namedCurve: 'P-256' })
    const pem = foreign.publicKey.export({ type: 'spki', format: 'pem' })
    const { x, y } = foreign.publicKey.export({ format: 'jwk' })
    const members = JSON.stringify({ crv: 'P-256', kty: 'EC', x, y })
    const thumbprint = createHash('sha256').update(members).digest('base64url').slice(0, 16)
    const [row] = await sql.query<{ public_key: string }>('select public_key from application_keys')
    const planted = [
      [thumbprint, pem],
      ['unreadable', 'no key at all'],
      ['copied', row?.public_key],
    ]
    for (const values of planted)
      await sql.query(
        `insert into application_keys (id, algorithm, public_key, created_at, signs_from)
         values ($1, 'ES256', $2, now(), now() - interval '400 days')`,
        values,
      )
    const text = unsignedToken(headerFor({ id: thumbprint, algorithm: 'ES256' }, 'JWT'), claims)
    const signature = sign('sha256', Buffer.from(text), { key: foreign.privateKey, dsaEncoding: 'ieee-p1363' })
    const restarted = processOn(sql)
    for (const each of [one, restarted]) {
      await each.load()
      expect(each.logged.filter((message) => message.includes('is ignored'))).toHaveLength(1)
      expect(await each.readSigned(`${text}.${signature.toString('base64url')}`)).toBeUndefined()
      expect(await each.readSigned(token)).toEqual(claims)
      expect(kidOf(await each.sign())).toBe(kidOf(token))
    }
    const states = (await one.stored.list()).map(({ state }) => state)
    expect(states).toEqual(['unreadable', 'unreadable', 'unreadable', 'current'])
    const settings = { sealingKey: [secret], jwtSecret: undefined, dataDir: '' }
    const { level, says } = await checkApplicationKeys(sql, settings)
    expect([level, says]).toEqual(['warning', expect.stringContaining(thumbprint)])
    // A start goes on too: only the hints of such a key do not count.
    await createSealedValues([secretOf('n'), secret], sealedColumns).reseal(sql)
    const resealed = processOn(sql, { sealing: [secretOf('n')] })
    await resealed.load()
    expect(await resealed.readSigned(token)).toEqual(claims)
  })

  it('take only what they have signed, as they have written it', async () => {
    await addApplication('RS256')
    await addApplication('ES256')
    const one = processOn(sql)
    const tokens = [await one.sign('RS256'), await one.sign('ES256')]
    const { keys } = await one.published()
    const rsa = keys.find(({ kty }) => kty === 'RSA')
    const encode = (value: object) => Buffer.from(JSON.stringify(value)).toString('base64url')
    const [header = '', payload = '', signature = ''] = (tokens[0] ?? '').split('.')
    const macKey = createPublicKey({ key: { ...rsa }, format: 'jwk' }).export({ type: 'spki', format: 'pem' })
    const confused = `${encode({ alg: 'HS256', typ: 'JWT', kid: rsa?.kid })}.${payload}`
    const refused = [
      `${encode({ alg: 'none', typ: 'JWT' })}.${payload}.`,
      `${encode({ alg: 'none', typ: 'JWT', kid: rsa?.kid })}.${payload}.AA`,
      `${confused}.${createHmac('sha256', macKey).update(confused).digest('base64url')}`,
      `${encode({ alg: 'RS256', typ: 'JWT', kid: 'unknown' })}.${payload}.${signature}`,
      `${header}.${encode({ ...claims, sub: 'eve' })}.${signature}`,
      `${header}.${payload}.${signature}=`,
      `${header}.${payload}.${signature.slice(0, -1)}`,
      ` ${tokens[0]}`,
      await one.signLogout('RS256'),
      '',
      'a.b.c',
      'x'.repeat(20_000),
    ]
    for (const token of refused) expect(await one.readSigned(token), token.slice(0, 200)).toBeUndefined()
    for (const token of tokens) expect(await one.readSigned(token)).toEqual(claims)
  })

  it('go on from memory while the database is away', async () => {
    await addApplication('ES256')
    const database = await store.another()
    const one = processOn(database)
    const token = await one.sign()
    await database.close()
    await expect(one.load()).rejects.toThrow()
    expect(await one.publishedIds()).toEqual([kidOf(token)])
    expect(await one.readSigned(await one.sign())).toEqual(claims)
  })
})
