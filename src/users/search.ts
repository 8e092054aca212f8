import { adminPageSize, type UserOrder } from '../contract/admin/admin-bodies.js'
import { refuse } from '../contract/outcome.js'
import type { FieldValues } from '../contract/profile-fields.js'
import { isProviderId, type ProviderId } from '../contract/providers.js'
import { type CountingFactor, countingFactors } from '../contract/second-factors.js'
import { isUuid, nilUuid } from '../lib/uuid.js'
import type { Database } from '../platform/database/database.js'
import { keysOfText } from './login-names.js'
import * as store from './users-bulk.store.js'

export type FoundUser = {
  id: string
  username: string
  email: string
  name: string | null
  disabled: boolean
  lockedDown: boolean
  createdAt: Date
  lastSignInAt: Date | null
  factors: CountingFactor[]
  groups: readonly string[]
  /** The values of profile fields, including fields that the file no longer has. */
  fields: FieldValues
  provider: ProviderId | null
  providers: ProviderId[]
}

const fromRow = (row: store.FoundRow): FoundUser => ({
  id: row.id,
  username: row.username,
  email: row.email,
  name: row.name,
  disabled: row.disabled,
  lockedDown: row.locked_down,
  createdAt: row.created_at,
  lastSignInAt: row.last_sign_in_at,
  factors: countingFactors.filter((method) => row.factors.includes(method)),
  groups: row.groups,
  fields: row.fields,
  provider: isProviderId(row.provider) ? row.provider : null,
  providers: row.providers.filter(isProviderId),
})

/**
 * The searches in their order: first all users whose username begins with the text, then those whose username looks alike, then those whose
 * address begins with it, and so on.
 */
const searches = [
  { page: store.selectAll, end: store.selectEndOfAll },
  { page: store.selectByLookAlike, end: store.selectEndByLookAlike },
  { page: store.selectByEmail, end: store.selectEndByEmail },
  { page: store.selectByName, end: store.selectEndByName },
  { page: store.selectByLastName, end: store.selectEndByLastName },
]

/** Behind the id and the key of every user. */
const behindAll = { key: '\u{10ffff}', id: 'ffffffff-ffff-ffff-ffff-ffffffffffff' }

/** Without a text, one list has all users, in one of these orders. Moments are counted in microseconds. */
const wholeLists: Record<UserOrder, (typeof searches)[number] & { begin: Pick<Cursor, 'key' | 'id'> }> = {
  username: {
    page: store.selectAll,
    end: store.selectEndOfAll,
    begin: { key: '', id: nilUuid },
  },
  '-username': { page: store.selectBackwards, end: store.selectEndBackwards, begin: behindAll },
  created: {
    page: store.selectByOldest,
    end: store.selectEndByOldest,
    begin: { key: '-9007199254740991', id: nilUuid },
  },
  '-created': {
    page: store.selectByNewest,
    end: store.selectEndByNewest,
    begin: { key: '9007199254740991', id: behindAll.id },
  },
}
const momentKey = /^-?\d{1,16}$/

/** How many users are looked at for one page if no index finds them, and for the number of all that are found. */
const usersPerScan = 10_000

/** The place where a page begins: after the user with this key, in the search at this index of `searches`. */
type Cursor = { at: number; key: string; id: string }

const firstPage: Cursor = { at: 0, key: '', id: nilUuid }

const writeCursor = ({ at, key, id }: Cursor) => Buffer.from(JSON.stringify([at, key, id])).toString('base64url')

const readCursor = (text: string): Cursor | undefined => {
  try {
    const [at, key, id] = JSON.parse(Buffer.from(text, 'base64url').toString('utf8'))
    const isValid = searches[at] !== undefined && typeof key === 'string' && typeof id === 'string' && isUuid(id)
    return isValid && !key.includes('\0') ? { at, key, id } : undefined
  } catch {
    return undefined
  }
}

/** `state` and `factor` are undefined for all users. */
type Filter = {
  search?: string | undefined
  group?: string | undefined
  state?: 'active' | 'disabled' | undefined
  factor?: 'none' | undefined
  order?: UserOrder | undefined
  /** The number of users of a page. */
  limit?: number
}

export type UserSearch = ReturnType<typeof createUserSearch>

/**
 * Finds users by the beginning of a name, a page at a time. Every page is read from an index, however many users there are. If no index
 * finds the users, a page ends after some thousand that were looked at, and may have fewer users than usual, or none.
 */
export const createUserSearch = ({
  database,
  scannedAtOnce = usersPerScan,
}: {
  database: Database
  scannedAtOnce?: number
}) => {
  const find = async (id: string): Promise<FoundUser | undefined> => {
    const [row] = await store.selectFoundById(database, id)
    return row && fromRow(row)
  }

  /** Searches from the cursor on until the page is full. One more user shows that there is another page. */
  const page = async (
    text: string,
    { group, state, factor, order = 'username', limit: pageSize = adminPageSize }: Filter,
    cursor: Cursor | undefined,
  ) => {
    const textOfKeys = { ...keysOfText(text), name: text }
    const isFiltered = state === 'active' || factor === 'none'
    const users: { row: store.FoundRow; at: number }[] = []
    const pageEndingAt = (end: Cursor | undefined) => ({
      users: users.slice(0, pageSize).map(({ row }) => fromRow(row)),
      next: end ? writeCursor(end) : null,
    })
    for (const [at, search] of (text === '' ? [wholeLists[order]] : searches).entries()) {
      if (at < (cursor?.at ?? 0)) continue
      const { key, id } = at === cursor?.at ? cursor : text === '' ? wholeLists[order].begin : firstPage
      const limit = pageSize + 1 - users.length
      const scanned = isFiltered ? scannedAtOnce : limit
      const onlyDisabled = state === 'disabled'
      const scan = { afterKey: key, afterId: id, text: textOfKeys, group: group ?? null, onlyDisabled, scanned }
      const filter = { onlyEnabled: state === 'active', onlyWithoutFactor: factor === 'none', limit }
      const rows = await search.page(database, scan, filter)
      users.push(...rows.map((row) => ({ row, at })))
      const last = users.length > pageSize ? users[pageSize - 1] : undefined
      if (last) return pageEndingAt({ at: last.at, key: last.row.key, id: last.row.id })
      const [end] = isFiltered ? await search.end(database, scan) : []
      if (end) return pageEndingAt({ at, ...end })
    }
    return pageEndingAt(undefined)
  }

  /** The number of all that a search finds; null if there are too many to look at. */
  const count = async ({ search = '', group, state, factor }: Filter): Promise<number | null> => {
    const text = search.trim()
    if (isUuid(text.toLowerCase())) return (await find(text.toLowerCase())) ? 1 : 0
    const textOfKeys = { ...keysOfText(text), name: text }
    const filter = { onlyEnabled: state === 'active', onlyWithoutFactor: factor === 'none' }
    const onlyDisabled = state === 'disabled'
    const scanned = scannedAtOnce + 1
    const scan = { afterKey: '', afterId: nilUuid, text: textOfKeys, group: group ?? null, onlyDisabled, scanned }
    const counts = await (text === '' ? store.countAll : store.countSearched)(database, scan, filter)
    if (counts.some((each) => each.looked_at > scannedAtOnce)) return null
    return counts.reduce((sum, { found }) => sum + found, 0)
  }

  return {
    find,
    count,
    page: async ({ search = '', after, ...filter }: Filter & { after?: string | undefined }) => {
      const text = search.trim()
      const cursor = after === undefined ? undefined : readCursor(after)
      const isByMoment = text === '' && filter.order?.endsWith('created') === true
      if (after !== undefined && (!cursor || (isByMoment && !momentKey.test(cursor.key))))
        return refuse('bad_request', { message: 'after must be `next` of a page' })
      if (!isUuid(text.toLowerCase())) return page(text, filter, cursor)
      const user = await find(text.toLowerCase())
      return { users: user ? [user] : [], next: null }
    },
  }
}
