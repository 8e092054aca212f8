import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest'
import { checkApplicationKeys, checkSigningKeys, checkWithdrawnKeys } from '../../src/commands/doctor/accounts.js'
import { secretOf } from '../support/site/instance.js'
import { type CommandStore, openCommandStore } from '../support/stores.js'
import { latchkey } from '../support/terminal.js'

describe('latchkey keys', () => {
  let store: CommandStore
  const environment = { ACCESS_TOKEN_ALGORITHM: 'ES256' }
  const keys = (...args: string[]) => latchkey(store, ['keys', ...args], { environment })
  const listed = async () => {
    const { out } = await keys('list', '--json')
    return out.split('\n').flatMap((line) => (line === '' ? [] : [JSON.parse(line)]))
  }
  const recorded = () =>
    store.database.query<{ kind: string; reason: string; ip: string }>(
      `select kind, reason, ip from events where kind like 'signing%' order by id`,
    )
  const addApplication = async (algorithm: string) => {
    const address = `https://${algorithm.toLowerCase()}.example/callback`
    const options = ['--redirect', address, '--everyone', '--algorithm', algorithm]
    expect(await latchkey(store, ['application', 'add', algorithm, ...options])).toMatchObject({ code: 0 })
  }

  beforeAll(async () => {
    store = await openCommandStore({ JWT_SECRET: secretOf('j') })
    // Each test begins without events, and the service never deletes new ones.
    await store.database.query('alter table events disable trigger event_changed')
  })
  afterEach(async () => {
    for (const table of ['signing_keys', 'application_keys', 'applications', 'events'])
      await store.database.query(`delete from ${table}`)
  })
  afterAll(() => store.drop())

  it('make the first key, then the next, and no third while that waits', async () => {
    expect(await keys('list')).toMatchObject({ code: 0, out: 'There are no keys.\n', err: '' })
    const first = await keys('rotate')
    expect(first).toMatchObject({ code: 0, out: expect.stringMatching(/^Made [\w-]{16}: it signs now\.\n$/), err: '' })
    const second = JSON.parse((await keys('rotate', '--json')).out)
    expect(second).toMatchObject({ isNew: true, withdrawn: [] })
    const third = await keys('rotate')
    expect(third).toMatchObject({
      code: 0,
      out: `Nothing was changed: ${second.id} is waiting already, and signs from ${second.signsFrom}.\n`,
    })
    const [current, waiting] = await listed()
    expect([current.state, waiting.state]).toEqual(['current', 'waiting'])
    expect(waiting).toMatchObject({ id: second.id, signsFrom: second.signsFrom })
    expect(Date.parse(waiting.signsFrom) - Date.parse(waiting.createdAt)).toBe(21 * 60_000)
    expect(Date.parse(current.trustedUntil) - Date.parse(waiting.signsFrom)).toBe(20 * 60_000)
    expect((await keys('list')).out).toMatch(/^ID +FOR +ALGORITHM +STATE +CREATED +SIGNS FROM +TRUSTED UNTIL\n/)
    expect(await recorded()).toEqual([
      { kind: 'signing_key_made', reason: current.id, ip: 'command line' },
      { kind: 'signing_key_made', reason: second.id, ip: 'command line' },
    ])
  })

  it('withdraw all keys only when told twice, and say what it means', async () => {
    await keys('rotate')
    await keys('rotate')
    const before = await listed()
    expect(await keys('rotate', '--compromised')).toMatchObject({
      code: 1,
      err: expect.stringContaining('Add --yes to do it.'),
    })
    expect(await listed()).toEqual(before)
    const { code, out } = await keys('rotate', '--compromised', '--yes')
    expect({ code, out }).toEqual({
      code: 0,
      out: expect.stringMatching(/^Made [\w-]{16}: it signs now\. Withdrew 2 keys\.\n$/),
    })
    const [only, ...others] = await listed()
    expect([only.state, others]).toEqual(['current', []])
    expect((await recorded()).at(-1)).toEqual({
      kind: 'signing_keys_withdrawn',
      reason: `${before[0].id}, ${before[1].id}; ${only.id} signs now`,
      ip: 'command line',
    })
  })

  it('cover the keys of ID tokens when there are applications', async () => {
    const shown = async () =>
      (await listed()).map(({ purpose, algorithm, state }) => `${purpose} ${algorithm} ${state}`).toSorted()
    const settings = { jwtSecret: [secretOf('j')], sealingKey: undefined, dataDir: '' }
    const judged = (more = {}) => checkApplicationKeys(store.database, { ...settings, ...more })
    expect(await judged()).toEqual({ level: 'ok', says: 'no application needs one' })
    await addApplication('ES256')
    expect(await judged()).toEqual({ level: 'ok', says: 'ES256: the running service makes a key' })
    expect((await keys('rotate')).out).toMatch(
      /^Made [\w-]{16}: it signs now\.\nMade [\w-]{16} for ID tokens with ES256: it signs now\.\n$/,
    )
    const current = await listed()
    expect((await judged()).says).toMatch(/^ES256: [\w-]{16} signs since [\d-]{10}$/)
    expect(await judged({ jwtSecret: [secretOf('x')] })).toMatchObject({ level: 'error' })
    const age = (change: string) =>
      store.database.query(`update application_keys set signs_from = signs_from ${change} interval '92 days'`)
    await age('-')
    expect(await judged()).toMatchObject({ level: 'warning', says: expect.stringContaining('older than 90 days') })
    await age('+')
    const second = JSON.parse((await keys('rotate', '--json')).out)
    expect(second).toMatchObject({
      isNew: true,
      idTokens: { keys: [{ algorithm: 'ES256', isNew: true }], withdrawn: [] },
    })
    const [waiting] = (await listed()).filter(({ id }) => id === second.idTokens.keys[0].id)
    expect(Date.parse(waiting.signsFrom) - Date.parse(waiting.createdAt)).toBe(24 * 60 * 60_000)
    expect((await keys('rotate')).out.match(/Nothing was changed/g)).toHaveLength(2)
    expect(await shown()).toEqual(
      ['access_tokens ES256', 'id_tokens ES256'].flatMap((kind) => [`${kind} current`, `${kind} waiting`]),
    )
    expect((await recorded()).map(({ reason }) => reason)).toContain(`${waiting.id} for ID tokens with ES256`)

    const { id: forHints } = current.find(({ purpose }) => purpose === 'id_tokens')
    await store.database.query('update application_keys set private_key = null where id = $1', [forHints])
    expect((await listed()).find(({ id }) => id === forHints).state).toBe('hints')
    await store.database.query(
      `insert into application_keys values ('foreign', 'ES256', 'x.y', 'no key', now(), now() + interval '2 days')`,
    )
    const before = await listed()
    expect(await keys('rotate')).toMatchObject({ code: 1, err: expect.stringContaining('Nothing was changed') })
    expect(await listed()).toEqual(before)
    await addApplication('RS256')
    const { out } = await keys('rotate', '--compromised', '--yes')
    expect(out).toMatch(/: it signs now\. Withdrew 2 keys\.\n.*RS256: it signs now\. Withdrew 3 keys\.\n$/)
    expect(await shown()).toEqual(['access_tokens ES256 current', 'id_tokens ES256 current', 'id_tokens RS256 current'])
    const ids = (await listed()).map(({ id }) => id)
    expect(before.filter(({ id }) => ids.includes(id))).toEqual([])
    const { kind, reason } = (await recorded()).at(-1) ?? {}
    expect([kind, reason]).toEqual(['signing_keys_withdrawn', expect.stringMatching(/foreign.*; .*RS256 sign now$/)])
  })

  it('are judged by doctor', async () => {
    const settings = { jwtSecret: [secretOf('j')], sealingKey: undefined, dataDir: '' }
    const judged = (accessTokenAlgorithm: 'ES256' | 'HS256', more = {}) =>
      checkSigningKeys(store.database, { ...settings, accessTokenAlgorithm, ...more })
    expect(await judged('HS256')).toEqual({ level: 'ok', says: 'JWT_SECRET signs access tokens' })
    expect(await judged('ES256')).toEqual({ level: 'ok', says: 'the first start with ES256 makes a key' })
    await keys('rotate')
    const [{ id }] = await listed()
    const today = new Date().toISOString().slice(0, 10)
    expect(await judged('ES256')).toEqual({ level: 'ok', says: `${id} signs since ${today}` })
    expect((await judged('HS256')).says).toBe('JWT_SECRET signs access tokens; 1 key published')
    expect(await judged('ES256', { jwtSecret: [secretOf('x')] })).toMatchObject({ level: 'error' })
    await store.database.query(`update signing_keys set signs_from = signs_from - interval '92 days'`)
    expect(await judged('ES256')).toMatchObject({
      level: 'warning',
      says: expect.stringContaining('older than 90 days'),
    })
  })

  it('are named by doctor if they come back after they were withdrawn', async () => {
    await addApplication('ES256')
    await keys('rotate')
    const before = await listed()
    expect(before.map(({ purpose }) => purpose)).toEqual(['access_tokens', 'id_tokens'])
    const tables = ['signing_keys', 'application_keys']
    for (const table of tables) await store.database.query(`create table saved_${table} as select * from ${table}`)
    expect(await checkWithdrawnKeys(store.database)).toMatchObject({ level: 'ok' })
    await keys('rotate', '--compromised', '--yes')
    expect(await checkWithdrawnKeys(store.database)).toMatchObject({ level: 'ok' })
    for (const table of tables) await store.database.query(`insert into ${table} select * from saved_${table}`)
    const { level, says } = await checkWithdrawnKeys(store.database)
    expect([level, says.split(': ')[0]?.split(', ')]).toEqual(['error', before.map(({ id }) => id).toSorted()])
    await keys('rotate', '--compromised', '--yes')
    expect(await checkWithdrawnKeys(store.database)).toMatchObject({ level: 'ok' })
  })

  it('say if no key signs, and change nothing that they cannot open', async () => {
    const withSecret = (...args: string[]) => latchkey(store, ['keys', ...args])
    const note = expect.stringContaining('ACCESS_TOKEN_ALGORITHM is not ES256 here')
    expect(await withSecret('rotate')).toMatchObject({ code: 0, out: 'No key was made.\n', err: note })
    expect(await withSecret('rotate', '--compromised', '--yes')).toMatchObject({ out: 'No key was made.\n' })
    expect([await listed(), await recorded()]).toEqual([[], []])
    expect(await withSecret('rotate', '--before-es256')).toMatchObject({
      out: expect.stringMatching(
        /^Made [\w-]{16}: it is published, and signs once ACCESS_TOKEN_ALGORITHM is ES256\.\n$/,
      ),
    })
    expect(await withSecret('list')).toMatchObject({ out: expect.stringMatching(/ checks /), err: note })
    expect(await withSecret('rotate', '--compromised', '--yes')).toMatchObject({ out: 'Withdrew 1 key.\n' })
    expect((await recorded()).at(-1)?.reason).toMatch(/^[\w-]{16}; none signs now$/)
    await keys('rotate')
    await store.database.query(`insert into signing_keys values ('foreign', 'x.y', now(), now())`)
    expect(await keys('rotate')).toMatchObject({ code: 1, err: expect.stringContaining('Nothing was changed') })
    expect((await listed()).map(({ state }) => state)).toEqual(['current', 'unopened'])
    expect(await keys('rotate', '--compromised', '--yes')).toMatchObject({ code: 0 })
    expect((await listed()).map(({ state }) => state)).toEqual(['current'])
    expect(await keys('rotate', 'now')).toMatchObject({ code: 2 })
    expect((await keys('rotate', '--help')).out).toContain('latchkey keys rotate')
  })
})
