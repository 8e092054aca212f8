import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { builtInFieldNames } from '#contract/schemas.js'
import { days, minutes, seconds } from '../../src/lib/durations.js'
import { nilUuid, uuidFloor, uuidv7 } from '../../src/lib/uuid.js'
import * as events from '../../src/messages/events.store.js'
import * as tokens from '../../src/messages/links-and-codes.store.js'
import * as content from '../../src/pages/content.store.js'
import type { Database } from '../../src/platform/database/database.js'
import * as identityLinks from '../../src/providers/identity-links.store.js'
import * as registrations from '../../src/registration/registrations.store.js'
import { createExpiredRows, expiringTables } from '../../src/service/background.js'
import { expiryFor, expiryInSql, liveNow, longestInSeconds } from '../../src/sessions/live-sessions.js'
import * as sessions from '../../src/sessions/sessions.store.js'
import { selectOfUser } from '../../src/sessions/sessions.store.js'
import { loadConfig } from '../../src/settings/config.js'
import type { StoredBuiltInFields } from '../../src/users/built-in-fields.js'
import { loginNameKinds, loginNames } from '../../src/users/login-names.js'
import * as users from '../../src/users/users.store.js'
import * as bulk from '../../src/users/users-bulk.store.js'
import { passwordFacts } from '../support/session-facts.js'

import { openPostgresStore, type TestStore } from '../support/stores.js'

const now = new Date('2026-03-01T12:00:00Z')
const at = (milliseconds: number) => new Date(now.getTime() + milliseconds)
const bytes = (fill: number) => Buffer.alloc(32, fill)
const client = { ip: '192.0.2.7', userAgent: 'Test' }
const namesOf = (name: string) => ({
  email: { email: `${name}@Example.com`, key: `${name.toLowerCase()}@example.com` },
  username: { username: name, key: name.toLowerCase() },
})

describe('the statements of the stores on PostgreSQL', () => {
  let store: TestStore
  let sql: Database
  beforeAll(async () => {
    store = await openPostgresStore()
    sql = store.database
  })
  afterAll(() => store.drop())
  beforeEach(async () => {
    for (const table of ['users', 'pending_registrations', 'one_time_tokens', 'events', 'content'])
      await sql.query(`delete from ${table}`)
  })

  const addUser = async (name: string) => {
    const id = uuidv7(now)
    const [row] = await users.insert(sql, {
      id,
      ...namesOf(name),
      name: null,
      passwordHash: 'hash',
      emailProven: false,
      emailClaimed: false,
      now,
    })
    expect(row).toMatchObject({ id, username: name, password_hash: 'hash', providers: [], disabled_at: null })
    return id
  }

  /** How many rows the clean-up of a table deletes at that moment. */
  const purgeAt = async (moment: Date, table: string) => {
    const jobs = createExpiredRows({ clock: { now: () => moment, offset: () => moment.getTime() - Date.now() } })
    return jobs.find(({ name }) => name === `purge ${table}`)?.run(sql, 10)
  }

  it('delete the expired rows of every table that has such, by an index', async () => {
    for (const { table, expires } of expiringTables) {
      expect({ table, deleted: await purgeAt(now, table) }).toEqual({ table, deleted: 0 })
      const index = `select 1 from pg_indexes where tablename = $1 and indexdef like '%(' || $2 || ')%'`
      expect({ table, indexes: await sql.query(index, [table, expires]) }).toMatchObject({ table, indexes: [{}] })
    }
    const expiring = await sql.query<{ table_name: string }>(
      `select table_name from information_schema.columns where column_name = 'expires_at' order by table_name`,
    )
    // These have clean-ups of their own.
    const others = ['invitations', 'sessions', 'sign_in_challenges']
    const listed = new Set([...expiringTables.map(({ table }) => table), ...others])
    expect(expiring.filter(({ table_name }) => !listed.has(table_name))).toEqual([])
  })

  it('know the constraint of each name with which a user signs in', async () => {
    const unique = await sql.query<{ name: string; definition: string }>(
      `select conname as name, pg_get_constraintdef(oid) as definition from pg_constraint
       where conrelid = 'users'::regclass and contype = 'u' order by conname`,
    )
    expect(unique).toEqual(
      loginNameKinds.map((kind) => ({ name: loginNames[kind].constraint, definition: `UNIQUE (${kind}_key)` })),
    )
  })

  it('keep users: found by every name, taken once, changed only as it was checked', async () => {
    const id = await addUser('Ada')
    const found = [
      await users.selectById(sql, id),
      await users.selectByEmail(sql, 'ada@example.com'),
      await users.selectByUsername(sql, 'ada'),
      await sql.transaction((inside) => users.holdByEmail(inside, 'ada@example.com')),
    ]
    for (const rows of found) expect(rows).toMatchObject([{ id, email: 'Ada@Example.com', created_at: now }])
    expect(await sql.transaction((inside) => users.lockById(inside, id))).toHaveLength(1)
    const again = {
      id: uuidv7(now),
      ...namesOf('ADA'),
      name: null,
      passwordHash: 'other',
      emailProven: false,
      emailClaimed: false,
      now,
    }
    expect([await users.insert(sql, again), await users.lockUsersOfAddress(sql, 'x')]).toEqual([[], []])
    expect(await users.selectFreeSuffix(sql, 'ada', [], new Date())).toEqual([{ suffix: 2 }])
    await addUser('ada-2')
    expect(await users.replaceHash(sql, id, 'not it', 'new')).toEqual([])
    expect(await users.replaceHash(sql, id, 'hash', 'new')).toEqual([{ id }])
    expect(await users.updateEmail(sql, id, { email: 'ada@x.com', key: 'ada@x.com' }, true, now)).toEqual([{ id }])
    expect(await users.updateEmail(sql, id, namesOf('Ada').email, true, at(1))).toEqual([{ id }])
    const formerEmails = ['Ada@Example.com', 'ada@x.com'].map((email, index) => ({ email, replaced_at: at(index) }))
    expect(await users.selectFormerEmails(sql, id)).toEqual(formerEmails)
    expect(await purgeAt(at(90 * days), 'former_emails')).toBe(1)
    const ofUndos = [users.takeBack(sql, id, null), users.releaseEmail(sql, '', 0), users.selectReservation(sql, '', 0)]
    await Promise.all([...ofUndos, bulk.releaseEmails(sql, []), bulk.selectReservedEmails(sql, [])])
    await users.updatePassword(sql, id, 'newest')
    expect(await users.noteSignIn(sql, id, now, null)).toEqual([{ is_first: true }])
    expect(await users.noteSignIn(sql, id, at(1), 'de')).toEqual([{ is_first: false }])
    expect(await users.noteSignIn(sql, id, at(2), 'fr')).toEqual([])
    expect(await users.selectById(sql, id)).toMatchObject([{ language: 'de' }])
    await users.updateBuiltInField(sql, id, 'language', 'en')
    await users.disable(sql, id, at(1))
    expect(await users.selectById(sql, id)).toMatchObject([{ password_hash: 'newest', disabled_at: at(1) }])
  })

  it('keep identities: one user for each', async () => {
    const id = await addUser('Ada')
    const google = { provider: 'provider_a' as const, subject: '1' }
    const newcomer = { id: uuidv7(now), ...namesOf('Bea'), name: 'Bea', now, clockOffset: 0 }
    const [bea] = await users.insertFromProvider(sql, { ...newcomer, identity: { ...google, subject: '2' } })
    expect(bea).toMatchObject({ username: 'Bea', provider: 'provider_a', providers: ['provider_a'] })
    expect(await identityLinks.insertIdentity(sql, id, google, 0)).toEqual([{ user_id: id }])
    expect(await identityLinks.insertIdentity(sql, newcomer.id, google, 0)).toEqual([])
    expect((await users.selectIdentity(sql, id, google)).length).toBe(1)
    expect(await users.selectIdentity(sql, id, { ...google, subject: 'another' })).toEqual([])
    expect(await users.selectByIdentity(sql, google)).toMatchObject([{ id, providers: ['provider_a'] }])
    await identityLinks.undoIdentities(sql, newcomer.id, [{ ...google, subject: '2' }], now)
    expect(await identityLinks.selectAllUndone(sql, newcomer.id)).toEqual([{ ...google, subject: '2', undone_at: now }])
    await identityLinks.undoIdentities(sql, id, [google], now)
    expect(await users.selectIdentity(sql, id, google)).toEqual([])
    expect([
      await identityLinks.forgetUndone(sql, id, google),
      await identityLinks.selectUndone(sql, id, google),
    ]).toEqual([[], []])
  })

  it('find what belongs to a user, and delete the user', async () => {
    const id = await addUser('Ada')
    const identity = { provider: 'provider_a' as const, subject: '1' }
    await identityLinks
      .insertIdentity(sql, id, identity, 0)
      .then(() => users.updateBuiltInField(sql, id, 'name', 'Ada L'))
    await identityLinks.updateIdentityEmail(sql, identity, 'a@b.example')
    expect(await identityLinks.selectIdentities(sql, id)).toMatchObject([{ ...identity, email: 'a@b.example' }])
    const locked = await users.waitForOtherDeletions(sql).then(() => users.lockForDeletion(sql, id))
    expect(locked).toMatchObject([{ id, name: 'Ada L' }])
    expect(await users.deleteUser(sql, id)).toEqual([{ id }])
    expect([await users.selectById(sql, id), await bulk.selectReserved(sql, ['ada'])]).toEqual([[], []])
  })

  const noProfile = Object.fromEntries(builtInFieldNames.map((field) => [field, null])) as StoredBuiltInFields
  it('keep many users at once, and list them page by page', async () => {
    await addUser('Ada')
    const imported = ['ada', 'bea', 'cy'].map((name, index) => ({
      id: uuidv7(at(index + 1)),
      ...namesOf(name),
      ...noProfile,
      passwordHash: null,
      warning: undefined,
      provider: null,
      groups: name === 'cy' ? ['staff'] : [],
      fields: Object.fromEntries(name === 'cy' ? [['team', 'red']] : []),
      identities: name === 'cy' ? [{ provider: 'provider_b' as const, subject: '9' }] : [],
      createdAt: at(index),
      disabledAt: name === 'bea' ? now : null,
    }))
    expect(await bulk.insertMany(sql, imported)).toHaveLength(2)
    expect((await bulk.selectTaken(sql, imported)).map((row) => row.username_key).sort()).toEqual(['ada', 'bea', 'cy'])
    expect(await bulk.selectTakenIdentities(sql, [{ provider: 'provider_b', subject: '9' }])).toHaveLength(1)
    expect(await bulk.selectProviders(sql)).toContainEqual({ provider: 'provider_b' })
    const first = await bulk.selectPage(sql, nilUuid, 2, {})
    const second = await bulk.selectPage(sql, first.at(-1)?.id ?? '', 2, {})
    expect([...first, ...second]).toMatchObject([
      { username: 'Ada', disabled: false, identities: {} },
      { username: 'bea', disabled: true },
      { username: 'cy', identities: { provider_b: '9' } },
    ])
    const filter = { disabled: true, noSecondFactor: true, unusedSince: at(1 * days) }
    expect(await bulk.selectPage(sql, nilUuid, 2, filter)).toMatchObject([{ username: 'bea' }])
    expect(await bulk.countWithSecondFactor(sql)).toEqual([{ users: 0 }])
    expect(await bulk.selectMatching(sql, { username: 'be', email: 'be', name: '' }, 9)).toMatchObject([{ name: null }])
  })

  const liveAfter = (offset: number, session = 365 * days) =>
    liveNow({
      lifetimes: { ...loadConfig({ NODE_ENV: 'test' }).lifetimes, session },
      clock: { now: () => at(offset), offset: () => 0 },
    })
  const live = liveAfter(0)

  const begin = async (userId: string, fill = 1) => {
    const id = uuidv7(now)
    const record = {
      ...{ id, user_id: userId, token_hash: bytes(fill), generation: 0, application_id: null },
      ...{ issued_at: now, created_at: now, last_used_at: now, rotated_at: 0, expires_at: at(30 * days) },
      ...{ ip: client.ip, user_agent: client.userAgent, browser: null, signed_in_as: 'Ada' },
      ...{ authenticated_at: now, second_factor_at: null, proof_moment: 0, second_factor_required: false },
    }
    expect(await sessions.insertRecord(sql, passwordFacts, record)).toMatchObject([{ groups: [], accepted_from: null }])
    return { id, record }
  }
  const graces = { refreshGrace: 30 * seconds, renewGrace: 2 * minutes }
  const recordAfter = async (id: string, clockOffset: number) =>
    (await sessions.selectRecord(sql, id, { live, clockOffset, graces }, undefined))[0]
  const rotation = (id: string, generation: number, presented: number, successor: number) => ({
    ...{ id, generation, presentedHash: bytes(presented), successorHash: bytes(successor) },
    ...{ issuedAt: now, expiresAt: at(30 * days), usedAt: now, live, clockOffset: 0, client },
    proven: undefined,
    atProxy: generation === 1,
    graces,
  })

  it('end at the same second in SQL, for devices, and in tokens, by either limit', async () => {
    const [begun, refreshed] = [1_700_000_000, 1_700_500_000]
    const places = expiryInSql({ begun: 'to_timestamp($1::float8)', refreshed: 'to_timestamp($2::float8)' }, '$3')
    for (const session of [365 * days, 10 * days]) {
      const lifetimes = { ...loadConfig({ NODE_ENV: 'test' }).lifetimes, session }
      const values = [begun, refreshed, longestInSeconds(lifetimes)]
      const [row] = await sql.query<{ end: Date }>(`select ${places} as "end"`, values)
      expect((row?.end.getTime() ?? 0) / 1000).toBe(expiryFor({ lifetimes }, { begun, refreshed }))
      expect(row?.end).toEqual(new Date(session < 30 * days ? begun * 1000 + session : refreshed * 1000 + 30 * days))
    }
  })

  it('rotate a session once, even if several ask at the same moment, and never one that has ended', async () => {
    const userId = await addUser('Ada')
    const { id } = await begin(userId)
    const checked = { id: userId, passwordHash: 'hash', undoCount: 0 }
    expect(await sessions.lockUser(sql, checked)).toEqual([{ username: 'Ada' }])
    expect(await sessions.lockUser(sql, { ...checked, passwordHash: 'changed since' })).toEqual([])
    expect(await sessions.lockUser(sql, { ...checked, undoCount: 1 })).toEqual([])
    const tries = Array.from({ length: 10 }, (_, index) => sessions.rotateRecord(sql, rotation(id, 1, 1, 10 + index)))
    const proof = { methods: ['pwd'], authenticated_at: now, second_factor_at: null }
    const facts = { ...proof, provider: null, trusted_device: null }
    const holder = { accepted_from: null, username: 'Ada', email: 'Ada@Example.com', name: null, groups: [], ...facts }
    expect((await Promise.all(tries)).flat()).toEqual([holder])
    const row = await recordAfter(id, 1 * minutes)
    expect(row).toMatchObject({ ...holder, generation: 1, just_rotated: true, just_voided: false, usable: true })
    expect(Buffer.from(row?.previous_hash ?? [])).toEqual(bytes(1))
    expect((await recordAfter(id, 5 * minutes))?.just_rotated).toBe(false)
    const caller = (generation: number) => ({ sessionId: id, userId, generation })
    await sql.transaction(async (inside) => {
      expect(await sessions.lockRecord(inside, caller(1), live)).toMatchObject([{ generation: 1, ...proof }])
      const { presentedHash: _, ...replacement } = rotation(id, 2, 0, 30)
      await sessions.replaceToken(inside, {
        ...replacement,
        proof: { methods: ['pwd', 'otp'], provenAt: at(5), secondFactorAt: at(5) },
        proofAge: 0,
      })
    })
    expect(await sessions.selectProof(sql, caller(2), live)).toEqual([
      {
        methods: ['pwd', 'otp'],
        authenticated_at: at(5),
        second_factor_at: at(5),
        groups: [],
        moment: expect.any(Date),
      },
    ])
    expect(await sessions.selectProof(sql, caller(1), live)).toEqual([])
    expect((await recordAfter(id, 0))?.just_voided).toBe(true)
    await users.disable(sql, userId, now)
    expect(await sessions.rotateRecord(sql, rotation(id, 3, 30, 31))).toEqual([])
  })

  it('list, end and purge sessions', async () => {
    const userId = await addUser('Ada')
    const [one, two] = [await begin(userId, 1), await begin(userId, 2)]
    const [three, four] = [await begin(userId, 3), await begin(userId, 4)]
    const counts = [live, liveAfter(31 * days)].map(async (at) => (await selectOfUser(sql, userId, at)).length)
    expect(await Promise.all(counts)).toEqual([4, 0])
    expect(await sessions.deleteRecordOfUser(sql, 'signed_out', one.id, nilUuid)).toEqual([])
    expect(await sessions.deleteRecordOfUser(sql, 'signed_out', one.id, userId)).toEqual([{ id: one.id }])
    expect(await sessions.deleteRecordOfUser(sql, 'session_ended', two.id, userId)).toEqual([{ id: two.id }])
    expect(await sessions.deleteOthersOfUser(sql, 'password_changed', userId, three.id)).toEqual([{ id: four.id }])
    expect(await sessions.purgeAfter(sql, nilUuid, live, 10)).toEqual([{ cursor: three.id }])
    expect(await selectOfUser(sql, userId, live)).toHaveLength(1)
    expect(await sessions.purgeAfter(sql, nilUuid, liveAfter(31 * days), 10)).toEqual([{ cursor: three.id }])
    expect(await sessions.purgeAfter(sql, nilUuid, liveAfter(31 * days), 10)).toEqual([{ cursor: null }])
    expect(await sessions.deleteSurplus(sql, 'session_ended', userId, nilUuid, 0, live)).toEqual([])
    expect(await sessions.deleteOfProvider(sql, 'provider_unlinked', userId, 'provider_a', null)).toEqual([])
    expect(await sessions.setNeverProven(sql, three.id, 'provider_a', at(0))).toEqual([])
    const everywhere = await sessions.deleteAllOfUser(sql, 'signed_out_everywhere', userId, 0)
    expect(everywhere).toEqual([{ ended: [], accepted_from: expect.any(Date) }])
    expect((everywhere[0]?.accepted_from.getTime() ?? 0) % 1000).toBe(0)
    expect(await sessions.deleteSome(sql, 'sessions_ended', 9)).toEqual([])
  })

  const register = async (name: string, fill: number) => {
    const [id, { email, username }] = [uuidv7(at(fill)), namesOf(name)]
    const keys = { email: email.email, emailKey: email.key, username: username.username, usernameKey: username.key }
    const own = { passwordHash: 'hash', tokenHash: bytes(fill), browserHash: bytes(fill + 100), invitationHash: null }
    const nothing = { name: null, language: null, applicationId: null, fields: {}, termsVersion: null }
    await registrations.insertPending(sql, {
      id,
      ...keys,
      ...own,
      ...nothing,
      tries: 2,
      expiresAt: at(1 * days),
    })
    return id
  }

  it('keep registrations: the newest counts, tries are spent one by one, and the browser that registered may finish', async () => {
    const [older, newer] = [await register('Ada', 1), await register('ADA', 2)]
    expect(await registrations.selectNewer(sql, older, now)).toHaveLength(1)
    expect(await registrations.selectNewer(sql, newer, now)).toEqual([])
    expect(await registrations.selectNewestByEmail(sql, 'ada@example.com', now)).toMatchObject([{ id: newer }])
    expect(await registrations.selectNewestByUsername(sql, 'ada', now)).toMatchObject([{ id: newer }])
    expect(await registrations.selectOwnByEmail(sql, 'ada@example.com', bytes(101), now)).toMatchObject([{ id: older }])
    expect(await registrations.selectOwnByUsername(sql, 'ada', bytes(102), now)).toMatchObject([{ id: newer }])
    expect(await registrations.selectOwnByEmail(sql, 'eve@example.com', bytes(101), now)).toEqual([])

    const byCode = await Promise.all(
      Array.from({ length: 5 }, () => registrations.spendTryByBrowser(sql, bytes(101), now)),
    )
    expect(
      byCode
        .flat()
        .map(({ code_tries_left }) => code_tries_left)
        .sort(),
    ).toEqual([0, 1])
    const byLink = await Promise.all(Array.from({ length: 5 }, () => registrations.spendTryByToken(sql, bytes(1), now)))
    expect(byLink.flat()).toHaveLength(2)

    await registrations.markNotMailed(sql, newer)
    expect(await registrations.selectNewer(sql, older, now)).toEqual([])
    expect(await registrations.selectByBrowser(sql, bytes(111), now)).toEqual([])
    const secrets = { emailKey: 'ada@example.com', formerHash: bytes(101), newHash: bytes(121) }
    await registrations.bindNewSecret(sql, { ...secrets, emailKey: 'eve@example.com' }, now)
    expect(await registrations.selectByBrowser(sql, bytes(121), now)).toEqual([])
    await registrations.bindNewSecret(sql, secrets, now)
    expect(await registrations.selectByBrowser(sql, bytes(121), now)).toMatchObject([{ id: older }])
    expect(await registrations.selectByBrowser(sql, bytes(101), now)).toMatchObject([{ id: older, confirmed: false }])
    await registrations.replaceToken(sql, older, bytes(3))
    for (const fill of [1, 3])
      expect(await registrations.selectByToken(sql, bytes(fill), bytes(101), now)).toMatchObject([
        { id: older, is_this_browser: true },
      ])
    expect(await registrations.selectByToken(sql, bytes(3), null, now)).toMatchObject([{ is_this_browser: false }])

    await sql.transaction(async (inside) => {
      expect(await registrations.lockWaiting(inside, older, now)).toHaveLength(1)
      await registrations.markConfirmed(inside, older, now)
    })
    expect(await registrations.lockWaiting(sql, older, now)).toEqual([])
    expect(await registrations.selectOfEmails(sql, ['ada@example.com'], now)).toHaveLength(2)
    expect(await purgeAt(now, 'pending_registrations')).toBe(0)
    expect(await purgeAt(at(2 * days), 'pending_registrations')).toBe(2)
  })

  it('give a one-time token to one of many', async () => {
    const userId = await addUser('Ada')
    const applicationId = 'an application'
    const expiresAt = at(30 * minutes)
    const token = { hash: bytes(1), purpose: 'reset_password' as const, userId, expiresAt, applicationId }
    expect(await tokens.insertToken(sql, token)).toHaveLength(1)
    expect(await tokens.insertToken(sql, token)).toEqual([])
    expect(await tokens.selectToken(sql, token.hash, ['provider_attempt'], now)).toEqual([])
    expect(await tokens.selectToken(sql, token.hash, [token.purpose], at(31 * minutes))).toEqual([])
    expect(await tokens.selectToken(sql, token.hash, [token.purpose], now)).toEqual([
      { user_id: userId, application_id: applicationId },
    ])
    const tries = Array.from({ length: 20 }, () => tokens.takeToken(sql, token.hash, [token.purpose], now))
    expect((await Promise.all(tries)).flat()).toEqual([{ user_id: userId, purpose: token.purpose }])

    await tokens.insertToken(sql, token)
    await tokens.deleteOfUser(sql, userId, [token.purpose])
    await tokens.insertToken(sql, { ...token, hash: bytes(2), userId: null })
    expect(await purgeAt(at(1 * days), 'one_time_tokens')).toBe(1)
  })

  it('keep events, newest first, and find those about a user', async () => {
    const userId = await addUser('Ada')
    const none = { userId: null, sessionId: null, reason: null, requestId: null, nameMark: null, logPending: false }
    const by = { ...client, actorId: null, actorKey: null, actorReason: null, details: null }
    const write = (kind: string, minute: number, more: object = {}) =>
      events.insertEvent(sql, { id: uuidv7(at(minute * minutes)), kind, ...none, ...by, now, ...more })
    expect(await write('signed_in', 1, { userId })).toEqual([{ username: 'Ada' }])
    await write('sign_in_failed', 2, { nameMark: 'mark of ada' })
    await write('rate_limited', 3)
    await write('rate_limited', 4, { ip: '192.0.2.8' })
    const span = {
      from: uuidFloor(now),
      before: uuidFloor(at(1 * days)),
      kinds: null,
      ip: null,
      network: null,
      request: null,
      limit: 10,
    }
    const kinds = (rows: { kind: string }[]) => rows.map(({ kind }) => kind)
    expect(kinds(await events.selectSpan(sql, span))).toEqual([
      'rate_limited',
      'rate_limited',
      'sign_in_failed',
      'signed_in',
    ])
    expect(kinds(await events.selectSpan(sql, { ...span, kinds: ['signed_in'] }))).toEqual(['signed_in'])
    await write('user_added', 5, { ip: 'command line', logPending: true })
    expect(kinds(await events.takeUnlogged(sql, 10))).toEqual(['user_added'])
    expect(await events.takeUnlogged(sql, 10)).toEqual([])
    await write('signed_out', 6, { ip: '2001:db8::5' })
    const within = async (network: string) => kinds(await events.selectSpan(sql, { ...span, network }))
    expect(await within('192.0.2.8/30')).toEqual(['rate_limited'])
    expect(await within('2001:db8::/32')).toEqual(['signed_out'])
    const about = await events.selectAbout(
      sql,
      { ...span, network: '192.0.2.0/24' },
      { userId, nameMarks: ['mark of ada'] },
    )
    expect(kinds(about)).toEqual(['rate_limited', 'sign_in_failed', 'signed_in'])
    expect(kinds(await events.selectRecentOfUser(sql, userId, ['signed_in'], 10))).toEqual(['signed_in'])
    expect(await events.selectRecentOfUser(sql, userId, ['signed_out'], 10)).toEqual([])
    expect(await events.takeUnlogged(sql, 10)).toEqual([])
    expect(await events.selectSignIn(sql, userId, uuidFloor(now), { ip: '', userAgent: '' })).toEqual([])
    await events.forgetNames(sql, ['mark of ada'])
    const afterwards = await events.selectAbout(sql, span, { userId, nameMarks: ['mark of ada'] })
    expect(kinds(afterwards)).not.toContain('sign_in_failed')
    expect(await events.purgeBefore(sql, uuidFloor(at(3 * minutes)), 10)).toHaveLength(2)
  })

  it('keep content, and replace it by its slug', async () => {
    await content.upsert(sql, { slug: 'b', title: 'B', body: 'one', now })
    await content.upsert(sql, { slug: 'a', title: 'A', body: 'one', now })
    await content.upsert(sql, { slug: 'b', title: 'B2', body: 'two', now: at(1) })
    expect(await content.selectAll(sql)).toMatchObject([{ slug: 'a' }, { slug: 'b', title: 'B2' }])
    expect(await content.selectBySlug(sql, 'b')).toEqual([{ slug: 'b', title: 'B2', body: 'two', updated_at: at(1) }])
  })
})
