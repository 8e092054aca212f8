import { isRefused, refuse } from '../../contract/outcome.js'
import type { Clock } from '../../lib/clock.js'
import { fingerprint, sameBytes } from '../../lib/random.js'
import type { Database } from '../../platform/database/database.js'
import * as store from './registrations.store.js'

/** The state of a registration, for its link or the browser that registered. */
type RegistrationState = 'waiting' | 'confirmed' | 'replaced' | 'unknown'
type OfBrowser = { state: RegistrationState; codeUsable: boolean }

const linkStates = { invalid_link: 'unknown', already_confirmed: 'confirmed', link_replaced: 'replaced' } as const

type Dependencies = { database: Database; clock: Clock }

export type RegistrationRows = ReturnType<typeof createRegistrationRows>

/** The row of a registration, by the link in its mail or by the browser that began it. */
export const createRegistrationRows = ({ database, clock }: Dependencies) => ({
  byToken: async (token: string, browserToken: string | undefined) => {
    const hash = fingerprint(token)
    const browserHash = browserToken === undefined ? null : fingerprint(browserToken)
    const [row] = await store.selectByToken(database, hash, browserHash, clock.now())
    if (!row) return refuse('invalid_link')
    if (row.confirmed) return refuse('already_confirmed')
    return sameBytes(row.token_hash, hash) ? row : refuse('link_replaced')
  },
  /** The newest one of this browser, also if it is confirmed. */
  byBrowser: async (browserToken: string | undefined) => {
    const [row] = browserToken ? await store.selectByBrowser(database, fingerprint(browserToken), clock.now()) : []
    return row
  },
})

/** What the pages of a registration are told. Changes nothing. */
export const createRegistrationStates = ({ database, clock }: Dependencies, rows: RegistrationRows) => ({
  /** Whether a link still works, and what it needs. */
  lookAtLink: async (token: string, browserToken: string | undefined) => {
    const row = await rows.byToken(token, browserToken)
    const other = { passwordRequired: false, newerMail: false, codeUsable: false }
    if (isRefused(row)) return { state: linkStates[row.refused], ...other }
    const newerMail = (await store.selectNewer(database, row.id, clock.now())).length > 0
    return { state: 'waiting' as const, passwordRequired: !row.bound, newerMail, codeUsable: false }
  },

  /** The state of the registration that this browser began. */
  stateForBrowser: async (browserToken: string | undefined): Promise<OfBrowser> => {
    const row = await rows.byBrowser(browserToken)
    if (!row) return { state: 'unknown', codeUsable: false }
    return { state: row.confirmed ? 'confirmed' : 'waiting', codeUsable: !row.confirmed && row.code_tries_left > 0 }
  },
})
