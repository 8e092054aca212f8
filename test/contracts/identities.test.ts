import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import type { ProviderId } from '#contract/providers.js'
import { createStats } from '../../src/admin/stats.js'
import { systemClock } from '../../src/lib/clock.js'
import { createIdentityLinks, type IdentityLinks } from '../../src/providers/identity-links.js'
import { loadConfig } from '../../src/settings/config.js'
import { readEmail, readUsername } from '../../src/users/names.js'
import { createNewUsers, type NewUsers } from '../../src/users/new-users.js'
import { createUsernames } from '../../src/users/usernames.js'
import { createUserChanges, createUsers, type UserChanges, type Users } from '../../src/users/users.js'

import { openPostgresStore, type TestStore } from '../support/stores.js'
import { untilBlocked } from '../support/waits-for-lock.js'

const good = <Value extends object>(value: Value) => {
  if ('refused' in value) throw new Error('The test gave an unusable value')
  return value as Exclude<Value, { refused: unknown }>
}
const emailOf = (name: string) => good(readEmail(`${name}@example.com`))
const google = (subject: string) => ({ provider: 'provider_a' as const, subject })
const github = (subject: string) => ({ provider: 'provider_b' as const, subject })

const createSignal = () => {
  let give = () => {}
  const given = new Promise<void>((resolve) => {
    give = resolve
  })
  return { give, given }
}

describe('identities on PostgreSQL', () => {
  let store: TestStore
  let users: Users
  let newUsers: NewUsers
  let userChanges: UserChanges
  let identityLinks: IdentityLinks

  beforeAll(async () => {
    store = await openPostgresStore()
    const stores = { database: store.database, clock: systemClock }
    users = createUsers(stores)
    newUsers = createNewUsers({ ...stores, usernames: createUsernames(stores) })
    userChanges = createUserChanges(stores)
    identityLinks = createIdentityLinks(stores)
  })
  afterAll(() => store.drop())
  beforeEach(() => store.database.query('delete from users'))

  const withPassword = async (name: string) => {
    const user = { email: emailOf(name), username: good(readUsername(name)), name: null, passwordHash: 'hash' }
    return good(await store.database.transaction((sql) => newUsers.create(sql, user)))
  }
  const newcomer = (name: string, identity: ReturnType<typeof google> | ReturnType<typeof github>) =>
    newUsers.createFromProvider({ email: emailOf(name), username: name, name: null, identity })
  const identities = () =>
    store.database.query<{ username: string; provider: string; subject: string }>(
      'select username, identities.provider, subject from identities join users on id = user_id order by 1, 2',
    )

  it('come with the account, and find it again', async () => {
    const ada = good(await newcomer('ada', google('1')))
    expect(ada).toMatchObject({ username: 'ada', provider: 'provider_a', providers: ['provider_a'] })
    expect(await users.findByIdentity(google('1'))).toEqual(ada)
    expect(await users.findById(ada.id)).toEqual(ada)
    // The same subject at another provider is another person.
    expect(await users.findByIdentity(github('1'))).toBeUndefined()
  })

  it('belong to one account: two newcomers at once with one identity make one user, and none without an identity', async () => {
    const created = await Promise.all(['ada', 'eve'].map((name) => newcomer(name, google('1'))))
    expect(created.filter((each) => 'refused' in each)).toEqual([{ refused: 'provider_taken' }])
    expect(await identities()).toHaveLength(1)
    expect(await store.database.query('select 1 from users')).toHaveLength(1)
  })

  it('are at most one for each provider, also when two are linked at once', async () => {
    const ada = await withPassword('ada')
    const linked = await Promise.all(
      ['1', '2'].map((subject) => identityLinks.linkProvider(store.database, ada.id, google(subject))),
    )
    expect(linked.sort()).toEqual([false, true])
    expect(await identityLinks.linkProvider(store.database, ada.id, github('1'))).toBe(true)
    expect((await users.findById(ada.id))?.providers).toEqual(['provider_a', 'provider_b'])
  })

  it('go to one of two users who want to link them at once', async () => {
    const [ada, eve] = [await withPassword('ada'), await withPassword('eve')]
    const linked = await Promise.all(
      [ada, eve].map(({ id }) => identityLinks.linkProvider(store.database, id, google('1'))),
    )
    expect(linked.sort()).toEqual([false, true])
    expect(await identities()).toHaveLength(1)
  })

  it('are not linked to a user who is gone', async () => {
    const ada = await withPassword('ada')
    await store.database.query('delete from users')
    expect(await identityLinks.linkProvider(store.database, ada.id, google('1'))).toBe(false)
  })

  /** As a flow does it, with the user's row locked. */
  const unlink = (id: string, provider: ProviderId, hasPasskey = false, isConfigured = (_: ProviderId) => true) =>
    store.database.transaction(async (sql) => {
      const user = await users.lock(sql, id)
      return user && identityLinks.unlinkProvider(sql, user, provider, { hasPasskey, isConfigured })
    })

  it('are removed while another way to sign in remains, and the last way stays', async () => {
    const ada = good(await newcomer('ada', google('1')))
    expect(await unlink(ada.id, 'provider_b')).toMatchObject({ refused: expect.any(String) })
    expect(await unlink(ada.id, 'provider_a')).toMatchObject({ refused: 'last_way_in' })
    await identityLinks.linkProvider(store.database, ada.id, github('1'))
    // One that is no longer configured signs no user in.
    const withoutB = (provider: ProviderId) => provider !== 'provider_b'
    expect(await unlink(ada.id, 'provider_a', false, withoutB)).toMatchObject({ refused: 'last_way_in' })
    expect(await unlink(ada.id, 'provider_a')).toBeUndefined()
    expect(await unlink(ada.id, 'provider_b')).toMatchObject({ refused: 'last_way_in' })
    expect(await unlink(ada.id, 'provider_b', true)).toBeUndefined()
    await identityLinks.linkProvider(store.database, ada.id, github('1'))
    await userChanges.setPassword(store.database, ada.id, 'hash')
    await unlink(ada.id, 'provider_b')
    expect(await identities()).toEqual([])
  })

  it('are counted after a removal that is under way, so that two at once do not remove the last', async () => {
    const ada = good(await newcomer('ada', google('1')))
    await identityLinks.linkProvider(store.database, ada.id, github('1'))
    const [underWay, mayEnd] = [createSignal(), createSignal()]
    const first = store.database.transaction(async (sql) => {
      await users.lock(sql, ada.id)
      await sql.query("delete from identities where provider = 'provider_a'")
      underWay.give()
      await mayEnd.given
    })
    await underWay.given
    const second = unlink(ada.id, 'provider_b')
    await untilBlocked(await store.another())
    mayEnd.give()
    await first
    expect(await second).toMatchObject({ refused: 'last_way_in' })
    expect(await identities()).toMatchObject([{ provider: 'provider_b' }])
  })

  it('go with their user', async () => {
    await newcomer('ada', google('1'))
    await store.database.query('delete from users')
    expect(await store.database.query('select 1 from identities')).toEqual([])
    expect(await newcomer('ada', google('1'))).toMatchObject({ username: 'ada' })
  })

  it('of a provider that is no longer configured are still there', async () => {
    const ada = await withPassword('ada')
    await store.database.query("insert into identities values ($1, 'provider_z', '1', now())", [ada.id])
    await store.database.query("update users set provider = 'provider_z'")
    expect(await users.findById(ada.id)).toMatchObject({ provider: 'provider_z', providers: ['provider_z'] })
  })
  it('are counted for operators, with everything else', async () => {
    await withPassword('ada')
    await newcomer('eve', google('1'))
    const stats = createStats({ ...loadConfig({ NODE_ENV: 'test' }), database: store.database, clock: systemClock })
    expect(await stats.since(new Date(0))).toMatchObject({
      ...{ users: 2, newUsers: 2, disabled: 0, withoutPassword: 1, withTotp: 0, withPasskeys: 0, sessions: 0 },
      ...{ mailsWaiting: 0, providers: [{ provider: 'provider_a', users: 1 }], events: [] },
    })
  })
})
