import type { FieldValues } from '../contract/profile-fields.js'
import type { ProviderId } from '../contract/providers.js'
import { builtInFieldNames } from '../contract/schemas.js'
import { uuidFloor } from '../lib/uuid.js'
import type { Sql } from '../platform/database/database.js'
import { selectList } from '../platform/database/sql.js'
import { builtInColumns, type StoredBuiltInFields } from './built-in-fields.js'
import type { Email, Username } from './names.js'
import type { Identity } from './users.store.js'

/** A user from another system, ready for the table. */
export type ImportedUser = StoredBuiltInFields & {
  id: string
  email: Email
  username: Username
  passwordHash: string | null
  /** What the operator should know about a user who is added all the same. */
  warning: string | undefined
  provider: ProviderId | null
  identities: Identity[]
  groups: readonly string[]
  fields: FieldValues
  createdAt: Date
  disabledAt: Date | null
}

export type ListedRow = StoredBuiltInFields & {
  id: string
  email: string
  username: string
  password_hash: string | null
  provider: string | null
  /** The user's subject at each provider. */
  identities: Readonly<Record<string, string>>
  groups: string[]
  fields: FieldValues
  created_at: Date
  disabled: boolean
}

/** `value`: the SQL of the column's value, if it is not simply the given one. */
type ImportColumn = {
  name: string
  type: 'uuid' | 'text' | 'timestamptz'
  value?: string
  of: (user: ImportedUser) => unknown
}
const importColumns: readonly ImportColumn[] = [
  { name: 'id', type: 'uuid', of: ({ id }) => id },
  { name: 'email', type: 'text', of: ({ email }) => email.email },
  { name: 'email_key', type: 'text', of: ({ email }) => email.key },
  { name: 'username', type: 'text', of: ({ username }) => username.username },
  { name: 'username_key', type: 'text', of: ({ username }) => username.key },
  { name: 'password_hash', type: 'text', of: ({ passwordHash }) => passwordHash },
  { name: 'provider', type: 'text', of: ({ provider }) => provider },
  { name: 'created_at', type: 'timestamptz', of: ({ createdAt }) => createdAt },
  { name: 'disabled_at', type: 'timestamptz', of: ({ disabledAt }) => disabledAt },
  // SQL cannot split an array of arrays into rows, so each list is one text.
  { name: 'groups', type: 'text', value: `string_to_array(given.groups, ',')`, of: ({ groups }) => groups.join(',') },
  { name: 'fields', type: 'text', value: 'given.fields::jsonb', of: ({ fields }) => JSON.stringify(fields) },
  ...builtInFieldNames.map((name): ImportColumn => ({ name, type: 'text', of: (user) => user[name] })),
]
const importNames = importColumns.map(({ name }) => name).join(', ')

/**
 * Inserts the whole batch in one statement. No two of its users may share an id, email, username or identity. A user whose id, email or
 * username is taken is skipped. An identity that is taken is a unique violation, and nothing of the batch is inserted.
 */
export const insertMany = (sql: Sql, users: readonly ImportedUser[]) => {
  const identities = users.flatMap((user) => user.identities.map((identity) => ({ userId: user.id, ...identity })))
  return sql.query<{ email_key: string }>(
    `with added as (
       insert into users (${importNames})
       select ${importColumns.map(({ name, value }) => value ?? `given.${name}`).join(', ')}
       from unnest(${importColumns.map(({ type }, index) => `$${index + 4}::${type}[]`).join(', ')}) as given (${importNames})
       on conflict do nothing returning id, email_key, created_at, groups
     ), linked as (
       insert into identities (user_id, provider, subject, linked_at)
       select added.id, given.provider, given.subject, least(added.created_at, now())
       from unnest($1::uuid[], $2::text[], $3::text[]) as given (user_id, provider, subject)
       join added on added.id = given.user_id
     ), made as (
       insert into groups (name, created_at) select distinct unnest(groups), now() from added order by 1
       on conflict (name) do update set name = excluded.name
     )
     select email_key from added`,
    [
      identities.map((identity) => identity.userId),
      identities.map((identity) => identity.provider),
      identities.map((identity) => identity.subject),
      ...importColumns.map(({ of }) => users.map(of)),
    ],
  )
}

/** The values of these users that belong to existing users. */
export const selectTaken = (sql: Sql, users: readonly ImportedUser[]) =>
  sql.query<{ id: string; email_key: string; username_key: string }>(
    `select id, email_key, username_key from users where email_key = any($1::text[])
     union select id, email_key, username_key from users where username_key = any($2::text[])
     union select id, email_key, username_key from users where id = any($3::uuid[])`,
    [users.map((user) => user.email.key), users.map((user) => user.username.key), users.map((user) => user.id)],
  )

/** The names among these that are reserved for their former owners. */
export const selectReserved = (sql: Sql, keys: readonly string[]) =>
  sql.query<{ username_key: string }>(
    'select username_key from reserved_usernames where username_key = any($1::text[])',
    [keys],
  )

/** Deletes reservations of these addresses that have expired, before the addresses are used. */
export const releaseEmails = (sql: Sql, users: readonly ImportedUser[]) =>
  sql.query(
    `delete from undos where hash in
       (select hash from undos where email_key = any($1::text[]) and expires_at <= now() for update skip locked)`,
    [users.map((user) => user.email.key)],
  )

/** The addresses of these users that are reserved for users who had them until a short time ago. */
export const selectReservedEmails = (sql: Sql, users: readonly ImportedUser[]) =>
  sql.query<{ email_key: string }>('select email_key from undos where email_key = any($1::text[])', [
    users.map((user) => user.email.key),
  ])

export const selectTakenIdentities = (sql: Sql, identities: readonly Identity[]) =>
  sql.query<{ provider: string; subject: string }>(
    `select provider, subject from identities
     join unnest($1::text[], $2::text[]) as given (provider, subject) using (provider, subject)`,
    [identities.map(({ provider }) => provider), identities.map(({ subject }) => subject)],
  )

const listedSelectList = selectList<ListedRow>({
  id: true,
  email: true,
  username: true,
  ...builtInColumns,
  password_hash: true,
  provider: true,
  identities: `coalesce((select jsonb_object_agg(identities.provider, subject) from identities where user_id = users.id), '{}')`,
  groups: true,
  fields: true,
  created_at: true,
  disabled: 'disabled_at is not null',
})

/** Every provider at which a user has an identity. Reads one entry of the index for each provider. */
export const selectProviders = (sql: Sql) =>
  sql.query<{ provider: string }>(
    `with recursive found as (
       (select provider from identities order by provider limit 1)
       union all
       select (select min(i.provider) from identities as i where i.provider > found.provider) from found
       where found.provider is not null
     )
     select provider from found where provider is not null order by provider`,
  )

/** The conditions of a list of users. */
export type Filter = {
  disabled?: boolean
  noSecondFactor?: boolean
  /** Members of this group. */
  group?: string
  /** Users who are older than this and had no session in use since then. */
  unusedSince?: Date
}

/** Whether a user has something that counts as a second factor, at any host. `id`: the column with the id of the user. */
const hasSecondFactor = (id: string) =>
  `exists (select 1 from second_factors as f where f.user_id = ${id} and f.counts)`

/** Pages go by id and not by offset, so every page takes the same time, and no user is listed twice or missed. */
export const selectPage = (
  sql: Sql,
  after: string,
  limit: number,
  { disabled, noSecondFactor, group, unusedSince }: Filter,
) =>
  sql.query<ListedRow>(
    `select ${listedSelectList} from users where id > $1
       and (not $3::boolean or disabled_at is not null)
       and (not $4::boolean or not ${hasSecondFactor('users.id')})
       and ($7::text is null or (groups @> array[$7] and groups <> '{}'))
       and ($5::timestamptz is null or (created_at < $5
         and not exists (select 1 from sessions where user_id = users.id and last_used_at >= $5)
         and not exists (select 1 from events where user_id = users.id and id >= $6 and session_id is not null)))
     order by id limit $2`,
    [
      after,
      limit,
      disabled ?? false,
      noSecondFactor ?? false,
      unusedSince ?? null,
      uuidFloor(unusedSince ?? new Date(0)),
      group ?? null,
    ],
  )

export const countWithSecondFactor = (sql: Sql) =>
  sql.query<{ users: number }>('select count(distinct user_id) as users from second_factors where counts')

/** Users with this text in the username, the email or the name. Whole matches come first. Reads the whole table. */
export const selectMatching = (sql: Sql, part: { username: string; email: string; name: string }, limit: number) =>
  sql.query<ListedRow>(
    `select ${listedSelectList} from users
     where strpos(username_key, nullif($1, '')) > 0 or strpos(email_key, nullif($2, '')) > 0 or strpos(lower(name), lower($3)) > 0
     order by username_key <> $1 and email_key <> $2, id limit $4`,
    [part.username, part.email, part.name, limit],
  )

export type FoundRow = {
  id: string
  username: string
  email: string
  name: string | null
  disabled: boolean
  locked_down: boolean
  created_at: Date
  groups: string[]
  fields: FieldValues
  /** The provider that made the account; null if it was made with a password. */
  provider: string | null
  /** The providers at which the user has an identity. */
  providers: string[]
  last_sign_in_at: Date | null
  /** The second factors that count, in no order. */
  factors: string[]
  /** The value by which the page is sorted. */
  key: string
}

const foundSelectList = selectList<FoundRow>({
  id: true,
  username: true,
  email: true,
  name: true,
  disabled: 'disabled_at is not null',
  locked_down: 'disabled_at is not null and locked_down_at is not null',
  created_at: true,
  groups: true,
  fields: true,
  provider: true,
  providers: 'array(select i.provider from identities as i where i.user_id = page.id order by i.provider)',
  // Events are kept for 90 days. An older sign-in is known only while its session lives, which has a row in sessions.
  last_sign_in_at: `greatest(
    (select max(r.created_at) from sessions as r where r.user_id = page.id),
    (select e.created_at from events as e where e.user_id = page.id
       and (e.kind = 'signed_in' or e.kind = 'registered' and e.session_id is not null) order by e.id desc limit 1))`,
  factors: 'array(select f.method from second_factors as f where f.user_id = page.id and f.counts)',
  key: true,
})

/** The columns that a search compares, each with an index in the order of bytes. */
const keys = {
  /** For people: in the order of the keys of usernames, in which `i`, `l` and `1` are the same, lena would come before ada. */
  alphabet: 'lower(username) collate "C"',
  username: 'username_key collate "C"',
  email: 'email_key collate "C"',
  name: 'lower(name) collate "C"',
  lastName: `lower(substring(name from '\\S+$')) collate "C"`,
  created: 'created_at',
} as const
type SearchedKey = keyof typeof keys

/** The keys that are no text, as the text of a cursor and back. */
const microseconds = {
  written: '(extract(epoch from created_at) * 1000000)::bigint::text',
  read: `(timestamptz 'epoch' + $1::text::bigint * interval '1 microsecond')`,
}
const writtenKey = (key: SearchedKey) => (key === 'created' ? microseconds.written : keys[key])
const afterKey = (key: SearchedKey) => (key === 'created' ? microseconds.read : '$1::text')

/** Usernames and addresses have their own key columns. Names, and usernames as people read them, are compared in lower case. Lists of all users are for no text. */
const prefixes: Record<Exclude<SearchedKey, 'created'>, string> = {
  alphabet: 'lower($5::text)',
  username: '$3::text',
  email: '$4::text',
  name: 'lower($5::text)',
  lastName: 'lower($5::text)',
}

/** Whether a key begins with the text, in the order of bytes. U+10FFFF is the highest character. */
const hasPrefix = (key: SearchedKey) =>
  key === 'created' ? 'true' : `(${keys[key]} >= ${prefixes[key]} and ${keys[key]} < ${prefixes[key]} || U&'\\+10FFFF')`

/**
 * A part of the users in the order of a key, after the user with `afterKey` and `afterId`. `text`: the searched text; for usernames and
 * addresses it is normalized like their keys. For `group` and `onlyDisabled` there are indexes.
 */
export type Scan = {
  afterKey: string
  afterId: string
  text: { username: string; email: string; name: string }
  group: string | null
  onlyDisabled: boolean
  /** How many users the scan looks at. */
  scanned: number
}

/** Conditions on the rows of a scan. No index finds these rows, and there may be few among very many. */
export type ScanFilter = { onlyEnabled: boolean; onlyWithoutFactor: boolean; limit: number }

/**
 * Users whose key begins with the text, in the order of the key. Users whom one of the searches `before` finds are left out: those searches
 * end before this one begins, so it skips no more users than they have read.
 */
const usersWithPrefix = (key: SearchedKey, before: readonly SearchedKey[], { sign, order }: Direction) =>
  `select *, ${keys[key]} as place, ${writtenKey(key)} as key from users
   where ${hasPrefix(key)} and ${keys[key]} ${sign}= ${afterKey(key)} and (${keys[key]}, id) ${sign} (${afterKey(key)}, $2::uuid)
     and ($6::text is null or (groups @> array[$6] and groups <> '{}'))
     and (not $7::boolean or disabled_at is not null)
     and $3::text is not null and $4::text is not null and $5::text is not null
     ${before.map((each) => `and not coalesce(${hasPrefix(each)}, false)`).join(' ')}
   order by ${keys[key]} ${order}, id ${order}`

type Direction = { sign: '>' | '<'; order: 'asc' | 'desc' }
const up: Direction = { sign: '>', order: 'asc' }
const down: Direction = { sign: '<', order: 'desc' }

const valuesOf = ({ afterKey, afterId, text, group, onlyDisabled, scanned }: Scan) => [
  afterKey,
  afterId,
  text.username,
  text.email,
  text.name,
  group,
  onlyDisabled,
  scanned,
]

const selectFoundPage =
  (key: SearchedKey, before: readonly SearchedKey[], direction = up) =>
  (sql: Sql, scan: Scan, { onlyEnabled, onlyWithoutFactor, limit }: ScanFilter) =>
    sql.query<FoundRow>(
      `select ${foundSelectList} from (
         select * from (${usersWithPrefix(key, before, direction)} limit $8) as scanned
         where (not $9::boolean or disabled_at is null)
           and (not $10::boolean or not ${hasSecondFactor('scanned.id')})
         order by place ${direction.order}, id ${direction.order} limit $11
       ) as page order by place ${direction.order}, id ${direction.order}`,
      [...valuesOf(scan), onlyEnabled, onlyWithoutFactor, limit],
    )

/** The last user that a scan looks at. No row if there are fewer users than `scanned`. */
const selectEnd =
  (key: SearchedKey, before: readonly SearchedKey[], direction = up) =>
  (sql: Sql, scan: Scan) =>
    sql.query<{ key: string; id: string }>(
      `select key, id from (${usersWithPrefix(key, before, direction)} offset $8::int - 1 limit 1) as last`,
      valuesOf(scan),
    )

/**
 * For each of the searches: how many of the users that it looks at match, and how many it looks at. Each search leaves out what those before
 * it find.
 */
const countFound = (keysInOrder: readonly SearchedKey[]) => {
  const counts = keysInOrder.map(
    (key, at) => `(select count(*) as looked_at, count(*) filter (where (not $9::boolean or disabled_at is null)
         and (not $10::boolean or not ${hasSecondFactor('scanned.id')})) as found
       from (${usersWithPrefix(key, keysInOrder.slice(0, at), up)} limit $8) as scanned)`,
  )
  return (sql: Sql, scan: Scan, { onlyEnabled, onlyWithoutFactor }: Omit<ScanFilter, 'limit'>) =>
    sql.query<{ found: number; looked_at: number }>(counts.join(' union all '), [
      ...valuesOf(scan),
      onlyEnabled,
      onlyWithoutFactor,
    ])
}

export const countAll = countFound(['alphabet'])
export const countSearched = countFound(['alphabet', 'username', 'email', 'name', 'lastName'])

export const selectByNewest = selectFoundPage('created', [], down)
export const selectByOldest = selectFoundPage('created', [])
export const selectBackwards = selectFoundPage('alphabet', [], down)
export const selectAll = selectFoundPage('alphabet', [])
export const selectByLookAlike = selectFoundPage('username', ['alphabet'])
export const selectByEmail = selectFoundPage('email', ['alphabet', 'username'])
export const selectByName = selectFoundPage('name', ['alphabet', 'username', 'email'])
export const selectByLastName = selectFoundPage('lastName', ['alphabet', 'username', 'email', 'name'])

export const selectEndByNewest = selectEnd('created', [], down)
export const selectEndByOldest = selectEnd('created', [])
export const selectEndBackwards = selectEnd('alphabet', [], down)
export const selectEndOfAll = selectEnd('alphabet', [])
export const selectEndByLookAlike = selectEnd('username', ['alphabet'])
export const selectEndByEmail = selectEnd('email', ['alphabet', 'username'])
export const selectEndByName = selectEnd('name', ['alphabet', 'username', 'email'])
export const selectEndByLastName = selectEnd('lastName', ['alphabet', 'username', 'email', 'name'])

export const selectFoundById = (sql: Sql, id: string) =>
  sql.query<FoundRow>(
    `select ${foundSelectList} from (select *, username_key as key from users where id = $1) as page`,
    [id],
  )
