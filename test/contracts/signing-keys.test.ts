import { createPrivateKey } from 'node:crypto'
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest'
import { newKeyPair } from '../../src/keys/key-pair.js'
import { createLoadedKeys } from '../../src/keys/loaded-keys.js'
import { sealedColumns } from '../../src/keys/sealed-columns.js'
import { createSealedValues } from '../../src/keys/sealed-values.js'
import { accessTokenKeys, createSigningKeys } from '../../src/keys/signing-keys.js'
import { days, minutes, seconds } from '../../src/lib/durations.js'
import type { Database } from '../../src/platform/database/database.js'
import { createTokens } from '../../src/sessions/tokens.js'
import { createMovableClock, createWrongClock, type MovableClock } from '../support/clock.js'
import { secretOf } from '../support/site/instance.js'
import { openPostgresStore, type TestStore } from '../support/stores.js'

const issuer = 'https://app.example.com'
const secret = secretOf('s')

type Given = { clock?: MovableClock; signsWithKeyPair?: boolean; sealing?: string[] }

/** The keys and tokens of one process, read when the test says so; and what it logged. */
const processOn = (
  database: Database,
  { clock = createMovableClock(), signsWithKeyPair = true, sealing = [secret] }: Given = {},
) => {
  const logged: string[] = []
  const note = (_details: object, message: string) => void logged.push(message)
  const sealedValues = createSealedValues(sealing, sealedColumns)
  const signingKeys = createSigningKeys(accessTokenKeys, { database, clock, sealedValues })
  const reads = { count: 0 }
  const counting = {
    ...signingKeys,
    read: () => {
      reads.count += 1
      return signingKeys.read()
    },
  }
  const loadedKeys = createLoadedKeys({
    signingKeys: counting,
    clock,
    log: { info: note, warn: note, error: note },
    signsWithKeyPair,
  })
  const tokens = createTokens({ secrets: [secret], clock, issuer, keyPairs: loadedKeys })
  const sign = () => {
    const iat = Math.floor(clock.now().getTime() / 1000)
    return tokens.signAccess({
      ...{ userId: '0190c0de-0000-7000-8000-000000000001', username: 'ada', name: 'Ada', email: 'ada@example.com' },
      ...{
        sid: '0190c0de-0000-7000-8000-000000000002',
        gen: 0,
        amr: ['pwd'],
        groups: [],
        auth_time: iat,
        iat,
        exp: iat + 900,
      },
    })
  }
  const published = async () => (await loadedKeys.published())?.map(({ kid }) => kid)
  return { ...loadedKeys, signingKeys, tokens, sign, published, clock, logged, reads }
}

const kidOf = (token: string) => JSON.parse(Buffer.from(token.split('.')[0] ?? '', 'base64url').toString()).kid

/** A store for the tests of a group, with no keys at the start of each. */
const useStore = (open: () => Promise<TestStore>) => {
  const at = {} as { store: TestStore; sql: Database }
  beforeAll(async () => {
    at.store = await open()
    at.sql = at.store.database
  })
  afterEach(async () => {
    await at.sql.query('delete from signing_keys')
  })
  afterAll(() => at.store.drop())
  return at
}

describe('signing keys', () => {
  const at = useStore(openPostgresStore)

  it('the first signs at once; the next is published for 20 minutes, then signs, and the first stays until its last token has expired', async () => {
    const process = processOn(at.sql)
    await process.load()
    const first = kidOf(process.sign())
    expect(await process.published()).toEqual([first])

    const [{ id: second } = {}] = (await process.signingKeys.rotate()) ?? []
    await process.load()
    expect(await process.published()).toEqual([first, second])
    process.clock.advance(20 * minutes)
    const last = process.sign()
    expect(kidOf(last)).toBe(first)
    // The time has come without another reading: each process knows the time of the database.
    process.clock.advance(1 * minutes + 1 * seconds)
    expect(kidOf(process.sign())).toBe(second)

    process.clock.advance(13 * minutes)
    await process.load()
    expect(await process.published()).toEqual([first, second])
    expect(process.tokens.readAccess(last)).toBeDefined()
    expect(await process.signingKeys.purge(at.sql)).toBe(0)
    process.clock.advance(8 * minutes)
    await process.load()
    expect(await process.published()).toEqual([second])
    expect(await process.signingKeys.purge(at.sql)).toBe(1)
    expect((await process.signingKeys.list()).map(({ id, state }) => [id, state])).toEqual([[second, 'current']])
  })

  it('the next is made after 90 days, in time to be published, by a process that signs', async () => {
    const process = processOn(at.sql)
    const verifier = processOn(at.sql, { clock: process.clock, signsWithKeyPair: false })
    await process.load()
    process.clock.advance(90 * days - 22 * minutes)
    await process.load()
    expect(await process.published()).toHaveLength(1)
    process.clock.advance(2 * minutes)
    await verifier.load()
    expect(await verifier.published()).toHaveLength(1)
    await process.load()
    expect(await process.published()).toHaveLength(2)
    await process.load()
    expect(process.logged).toEqual(['signing key made', 'signing key made'])
    const before = kidOf(process.sign())
    process.clock.advance(22 * minutes)
    expect(kidOf(process.sign())).not.toBe(before)
    expect(process.age()).toBeLessThan(3 * 60)
  })

  it('a withdrawn key is refused at once, also in tokens that were read before, and the new one signs at once', async () => {
    const process = processOn(at.sql)
    await process.load()
    const token = process.sign()
    expect(process.tokens.readAccess(token)).toBeDefined()
    const { made, removed } = await process.signingKeys.replaceAll()
    const id = made[0]?.id
    expect(removed).toEqual([kidOf(token)])
    await process.load()
    expect(process.tokens.readAccess(token)).toBeUndefined()
    expect(kidOf(process.sign())).toBe(id)
    expect(await process.published()).toEqual([id])
    expect(process.logged).toContain('signing keys are no longer trusted')
  })

  it('a process that cannot make the next key still learns which ones are gone', async () => {
    const process = processOn(at.sql)
    await process.load()
    const [{ id: second } = {}] = (await process.signingKeys.rotate()) ?? []
    await process.load()
    await at.sql.query('alter table signing_keys add constraint no_more check (false) not valid')
    await at.sql.query('delete from signing_keys where id <> $1', [second])
    process.clock.advance(100 * days)
    await expect(process.load()).rejects.toThrow()
    expect(await process.published()).toEqual([second])
    await at.sql.query('alter table signing_keys drop constraint no_more')
    await process.load()
    expect(await process.published()).toHaveLength(2)
  })

  it('are sealed: the row has nothing of the private key, and one that was put there without the key signs nothing', async () => {
    const process = processOn(at.sql)
    await process.load()
    const token = process.sign()
    const rows = await at.sql.query('select * from signing_keys')
    const { keys } = await process.signingKeys.read()
    const { d = '' } = createPrivateKey(keys[0]?.pair?.privateKey ?? '').export({ format: 'jwk' })
    const dump = JSON.stringify(rows)
    for (const form of ['base64', 'base64url', 'hex'] as const)
      expect(dump).not.toContain(Buffer.from(d, 'base64url').toString(form))
    expect(dump).not.toContain('PRIVATE')

    // With the database but without SEALING_KEY: a key of one's own, and the sealed text of ours under another id.
    const own = await newKeyPair('ES256')
    await at.sql.query(
      `insert into signing_keys select $1, $2, created_at, signs_from from signing_keys
       union all select 'copied', private_key, created_at, signs_from from signing_keys`,
      [own.id, own.privateKey],
    )
    await process.load()
    expect(await process.published()).toEqual([kidOf(token)])
    expect(process.logged).toContain('a signing key cannot be opened: SEALING_KEY must be the same at every instance')
    await expect(processOn(at.sql).load()).rejects.toThrow('latchkey keys rotate --compromised --yes')
    await process.signingKeys.replaceAll()
    await expect(processOn(at.sql).load()).resolves.toBeUndefined()
  })
})

describe('signing keys of several processes', () => {
  const at = useStore(openPostgresStore)

  it('ten that start at once make one key, and each reads the tokens of the others', async () => {
    const processes = await Promise.all(Array.from({ length: 10 }, async () => processOn(await at.store.another())))
    await Promise.all(processes.map(({ load }) => load()))
    const tokens = processes.map(({ sign }) => sign())
    expect(new Set(tokens.map(kidOf)).size).toBe(1)
    for (const { tokens: reader } of processes)
      for (const token of tokens) expect(reader.readAccess(token)).toBeDefined()
  })

  it('the clock of the database decides which key signs, however wrong their own clocks are', async () => {
    const clock = createMovableClock()
    const wrong = [-5, 0, 5].map((error) => {
      const own = createWrongClock(error * minutes)
      return { ...own, now: () => new Date(clock.now().getTime() + error * minutes), offset: clock.offset }
    })
    const processes = wrong.map((each) => processOn(at.sql, { clock: each }))
    for (const { load } of processes) await load()
    await processes[0]?.signingKeys.rotate()
    for (const { load } of processes) await load()
    for (const step of [0, 20, 0.9, 0.2, 19]) {
      clock.advance(step * minutes)
      for (const { load } of processes) await load()
      const tokens = processes.map(({ sign }) => sign())
      expect(new Set(tokens.map(kidOf)).size).toBe(1)
      for (const { tokens: reader } of processes)
        for (const token of tokens) expect(reader.readAccess(token)).toBeDefined()
    }
  })

  it('a process goes on with the keys that it knows while the database is away, and refuses no token before it has read them', async () => {
    const database = await at.store.another()
    const process = processOn(database)
    await process.load()
    const token = process.sign()
    const unread = processOn(database)
    expect(() => unread.tokens.readAccess(token)).toThrow('The signing keys have not been read yet')
    expect(unread.tokens.readAccess('garbage')).toBeUndefined()
    await database.close()
    await expect(process.load()).rejects.toThrow()
    expect(process.tokens.readAccess(process.sign())).toBeDefined()
    expect(process.tokens.readAccess(token)).toBeDefined()
  })

  it('a process that is killed while it makes a key leaves none behind, and no lock', async () => {
    const other = await at.store.another()
    const killed = other.transaction(async (sql) => {
      await sql.query('select pg_advisory_xact_lock(7210452)')
      await sql.query(`insert into signing_keys values ('half', 'x', now(), now())`)
      await sql.query('select pg_terminate_backend(pg_backend_pid())')
    })
    await expect(killed).rejects.toThrow()
    const process = processOn(at.sql)
    await process.load()
    expect(await process.published()).toEqual([kidOf(process.sign())])
  })

  it('a replacement that fails half-way keeps the keys that were there', async () => {
    const process = processOn(at.sql)
    await process.load()
    const token = process.sign()
    const without = processOn(at.sql, { sealing: [] })
    await expect(without.signingKeys.replaceAll()).rejects.toThrow('no key to seal with')
    await process.load()
    expect(process.tokens.readAccess(token)).toBeDefined()
  })

  it('one whose SEALING_KEY is a step behind goes on with the keys that it has opened, but does not start again', async () => {
    const process = processOn(at.sql)
    await process.load()
    const token = process.sign()
    const sealedAnew = createSealedValues([secretOf('n'), secret], sealedColumns)
    await sealedAnew.reseal(at.sql)
    await process.load()
    expect(kidOf(process.sign())).toBe(kidOf(token))
    expect(process.tokens.readAccess(token)).toBeDefined()
    const again = processOn(at.sql)
    await expect(again.load()).rejects.toThrow('SEALING_KEY must be the same at every instance')
    expect(await again.signingKeys.rotate()).toBeUndefined()
    expect((await at.sql.query('select 1 from signing_keys')).length).toBe(1)
  })

  it('a token of a key that another made a moment ago waits for one reading, and made-up keys cause no more than that', async () => {
    const verifier = processOn(await at.store.another(), { signsWithKeyPair: false })
    await verifier.load()
    const signer = processOn(at.sql)
    await signer.load()
    const token = signer.sign()
    expect(verifier.tokens.readAccess(token)).toBeUndefined()
    const strangers = await Promise.all(Array.from({ length: 200 }, () => newKeyPair('ES256')))
    const madeUp = strangers.map(({ id }) =>
      token.replace(/^[^.]+/, Buffer.from(`{"alg":"ES256","typ":"at+jwt","kid":"${id}"}`).toString('base64url')),
    )
    const before = verifier.reads.count
    await Promise.all([...madeUp, token].map(async (each) => verifier.learn(each)))
    expect(verifier.reads.count).toBe(before + 1)
    expect(verifier.tokens.readAccess(token)).toMatchObject({ username: 'ada' })
    // Known keys, other headers, and what was just found to be unknown: nothing to wait for.
    const others = [
      token,
      signer.tokens.signRefresh({ ...claims, iat: 1, exp: 2 }),
      'garbage',
      '',
      ...madeUp.slice(0, 200),
    ]
    expect(others.filter((each) => verifier.learn(each) !== undefined)).toEqual([])
  })
})

const claims = {
  userId: '0190c0de-0000-7000-8000-000000000001',
  username: 'ada',
  sid: '0190c0de-0000-7000-8000-000000000002',
  gen: 0,
  auth_time: 1,
}
