import { refuse } from '../contract/outcome.js'
import type { Clock } from '../lib/clock.js'
import { equalInConstantTime, fingerprint } from '../lib/random.js'

import type { Database } from '../platform/database/database.js'
import * as store from './registrations.store.js'

/** The state of a registration, found by its link or by the browser that registered. */
type RegistrationState = 'waiting' | 'confirmed' | 'replaced' | 'unknown'
type BrowserRegistration = { state: RegistrationState; codeUsable: boolean; applicationId?: string | undefined }

const linkStates = { invalid_link: 'unknown', already_confirmed: 'confirmed', link_replaced: 'replaced' } as const

const applicationOf = ({ application_id: id }: store.PendingRow) => id ?? undefined

type Dependencies = { database: Database; clock: Clock }

export type RegistrationRows = ReturnType<typeof createRegistrationRows>

/** Finds the row of a registration by the link in its mail, or by the browser that began it. */
export const createRegistrationRows = ({ database, clock }: Dependencies) => ({
  /** The row of a link, and the refusal if the link does not work. A link that does not work any more may still have its row. */
  byLink: async (token: string, browserToken: string | undefined) => {
    const hash = fingerprint(token)
    const browserHash = browserToken === undefined ? null : fingerprint(browserToken)
    const [row] = await store.selectByToken(database, hash, browserHash, clock.now())
    if (!row) return { refusal: refuse('invalid_link') }
    if (row.confirmed) return { row, refusal: refuse('already_confirmed') }
    return equalInConstantTime(row.token_hash, hash) ? { row } : { row, refusal: refuse('link_replaced') }
  },
  /** The newest registration of this browser, even if it is confirmed. */
  byBrowser: async (browserToken: string | undefined) => {
    const [row] = browserToken ? await store.selectByBrowser(database, fingerprint(browserToken), clock.now()) : []
    return row
  },
})

/** Describes a registration for its pages. Changes nothing. */
export const createRegistrationStates = ({ database, clock }: Dependencies, rows: RegistrationRows) => ({
  /** Whether a link still works, and what it needs. */
  describeLink: async (token: string, browserToken: string | undefined) => {
    const { row, refusal } = await rows.byLink(token, browserToken)
    const otherFields = { passwordRequired: false, newerMail: false, codeUsable: false }
    if (refusal) return { state: linkStates[refusal.refused], applicationId: row && applicationOf(row), ...otherFields }
    const newerMail = (await store.selectNewer(database, row.id, clock.now())).length > 0
    const link = { state: 'waiting' as const, passwordRequired: !row.is_this_browser, newerMail, codeUsable: false }
    return { ...link, applicationId: applicationOf(row) }
  },

  /** The state of the registration that this browser began. */
  stateForBrowser: async (browserToken: string | undefined): Promise<BrowserRegistration> => {
    const row = await rows.byBrowser(browserToken)
    if (!row) return { state: 'unknown', codeUsable: false }
    const codeUsable = !row.confirmed && row.code_tries_left > 0
    return { state: row.confirmed ? 'confirmed' : 'waiting', codeUsable, applicationId: applicationOf(row) }
  },
})
