import { authorizationRequestLifetime } from '../../http/cookie-table.js'
import type { Clock } from '../../lib/clock.js'
import { fingerprint, randomToken } from '../../lib/random.js'

import type { Database, Sql } from '../../platform/database/database.js'
import * as store from './authorization-requests.store.js'
import type { CheckedRequest } from './request-steps.js'

/**
 * The most open requests of one browser. A further request ends the oldest, because a page of another site can open as many as it likes.
 */
const maxOpen = 20

type NewRequest = Omit<CheckedRequest, 'hint'> & { redirectUri: string }

/** The parameters as rows have them. An instance of another release may have written the row, so these names stay. */
type StoredParameters = Omit<NewRequest, 'redirectUri' | 'codeChallenge'> & {
  redirectAddress: string
  challenge: string | undefined
}

const storedFrom = ({ redirectUri, codeChallenge, ...parameters }: NewRequest): StoredParameters => ({
  ...parameters,
  redirectAddress: redirectUri,
  challenge: codeChallenge,
})

/** A request of an application that waits for its user. */
export type AuthorizationRequest = NewRequest & {
  id: string
  clientId: string
  /** The user whom the request belongs to, from the first proof or consent on. (`user` is the only user whom the application accepts.) */
  assignedUserId: string | undefined
  createdAt: Date
  /** False for a request that is answered at once. */
  isStored: boolean
}

/** A request is found by its id only in the browser that began it. `browser` is the value of that browser's cookie. */
export type RequestKey = { id: string; browser: string }

const fromRow = (id: string, row: store.RequestRow): AuthorizationRequest => {
  const { redirectAddress, challenge, ...parameters } = row.parameters as StoredParameters
  return {
    ...parameters,
    redirectUri: redirectAddress,
    codeChallenge: challenge,
    id,
    clientId: row.application_id,
    assignedUserId: row.user_id ?? undefined,
    createdAt: row.created_at,
    isStored: true,
  }
}

export type AuthorizationRequests = ReturnType<typeof createAuthorizationRequests>

export const createAuthorizationRequests = ({ database, clock }: { database: Database; clock: Clock }) => {
  const storeKeyOf = ({ id, browser }: RequestKey): store.OpenRequestKey => ({
    hash: fingerprint(id),
    browserHash: fingerprint(browser),
    clockOffset: clock.offset(),
  })

  return {
    /** Stores a request that was checked. */
    begin: async (clientId: string, browser: string, parameters: NewRequest): Promise<AuthorizationRequest> => {
      const id = `${clientId}.${randomToken()}`
      const key = storeKeyOf({ id, browser })
      const lifetime = authorizationRequestLifetime
      const [stored] = await store.insertRequest(database, {
        ...key,
        clientId,
        parameters: storedFrom(parameters),
        lifetime,
      })
      if (!stored) throw new Error('A request was not stored')
      await store.deleteSurplus(database, key.browserHash, maxOpen)
      return {
        ...parameters,
        id,
        clientId,
        assignedUserId: undefined,
        createdAt: stored.created_at,
        isStored: true,
      }
    },

    /** A request that asks its user nothing (`prompt=none`) is answered at once: it needs no row. */
    beginSilently: async (clientId: string, parameters: NewRequest): Promise<AuthorizationRequest> => {
      const [now] = await store.selectMoment(database, clock.offset())
      if (!now) throw new Error('The database gave no row for a statement that always has one')
      return { ...parameters, id: '', clientId, assignedUserId: undefined, createdAt: now.moment, isStored: false }
    },

    /** Undefined if the request was used, has expired or belongs to another browser. */
    find: async (key: RequestKey): Promise<AuthorizationRequest | undefined> => {
      const [row] = await store.selectOpen(database, storeKeyOf(key))
      return row && fromRow(key.id, row)
    },

    /** Gives the request to a user who has proven who they are. False if the request is over, or another user was first. */
    assignTo: async (key: RequestKey, userId: string) =>
      (await store.setUser(database, storeKeyOf(key), userId, false)).length > 0,

    /** Lets the user continue a request that another user may have begun. False if the request is over. */
    handOver: async (key: RequestKey, userId: string) =>
      (await store.setUser(database, storeKeyOf(key), userId, true)).length > 0,

    /** Uses the request up. False if another answer was first, or the request belongs to another user. */
    take: async (sql: Sql, key: RequestKey, userId: string | undefined) =>
      (await store.setUsed(sql, storeKeyOf(key), userId ?? null)).length > 0,
  }
}
