import type { FieldValues } from '../../contract/profile-fields.js'
import type { Sql } from '../../platform/database/database.js'
import { selectList } from '../../platform/database/sql.js'

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
  has_totp: boolean
  has_passkey: boolean
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
  has_totp: 'exists (select 1 from totp_secrets as t where t.user_id = page.id)',
  has_passkey: 'exists (select 1 from passkeys as p where p.user_id = page.id)',
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
} as const
type SearchedKey = keyof typeof keys

/** Usernames and addresses have their own key columns. Names are compared in lower case. The list of all users is for no text. */
const prefixes: Record<SearchedKey, string> = {
  alphabet: "''",
  username: '$3::text',
  email: '$4::text',
  name: 'lower($5::text)',
  lastName: 'lower($5::text)',
}

/** Whether a key begins with the text, in the order of bytes. U+10FFFF is the highest character. */
const hasPrefix = (key: SearchedKey) =>
  `(${keys[key]} >= ${prefixes[key]} and ${keys[key]} < ${prefixes[key]} || U&'\\+10FFFF')`

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
const usersWithPrefix = (key: SearchedKey, before: readonly SearchedKey[]) =>
  `select *, ${keys[key]} as key from users
   where ${hasPrefix(key)} and ${keys[key]} >= $1::text and (${keys[key]}, id) > ($1::text, $2::uuid)
     and ($6::text is null or (groups @> array[$6] and groups <> '{}'))
     and (not $7::boolean or disabled_at is not null)
     and $3::text is not null and $4::text is not null and $5::text is not null
     ${before.map((each) => `and not coalesce(${hasPrefix(each)}, false)`).join(' ')}
   order by ${keys[key]}, id`

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

const selectPage =
  (key: SearchedKey, before: readonly SearchedKey[]) =>
  (sql: Sql, scan: Scan, { onlyEnabled, onlyWithoutFactor, limit }: ScanFilter) =>
    sql.query<FoundRow>(
      `select ${foundSelectList} from (
         select * from (${usersWithPrefix(key, before)} limit $8) as scanned
         where (not $9::boolean or disabled_at is null)
           and (not $10::boolean or not (
             exists (select 1 from totp_secrets as t where t.user_id = scanned.id)
             or exists (select 1 from passkeys as p where p.user_id = scanned.id)))
         order by key, id limit $11
       ) as page order by key, id`,
      [...valuesOf(scan), onlyEnabled, onlyWithoutFactor, limit],
    )

/** The last user that a scan looks at. No row if there are fewer users than `scanned`. */
const selectEnd = (key: SearchedKey, before: readonly SearchedKey[]) => (sql: Sql, scan: Scan) =>
  sql.query<{ key: string; id: string }>(
    `select key, id from (${usersWithPrefix(key, before)} offset $8::int - 1 limit 1) as last`,
    valuesOf(scan),
  )

export const selectAll = selectPage('alphabet', [])
export const selectByUsername = selectPage('username', [])
export const selectByEmail = selectPage('email', ['username'])
export const selectByName = selectPage('name', ['username', 'email'])
export const selectByLastName = selectPage('lastName', ['username', 'email', 'name'])

export const selectEndOfAll = selectEnd('alphabet', [])
export const selectEndByUsername = selectEnd('username', [])
export const selectEndByEmail = selectEnd('email', ['username'])
export const selectEndByName = selectEnd('name', ['username', 'email'])
export const selectEndByLastName = selectEnd('lastName', ['username', 'email', 'name'])

export const selectFoundById = (sql: Sql, id: string) =>
  sql.query<FoundRow>(
    `select ${foundSelectList} from (select *, username_key as key from users where id = $1) as page`,
    [id],
  )
