import type { OpenedApplication, PersonalToken as ShownToken } from '../contract/personal-tokens.js'
import { isoTime, showWith, type Views } from '../lib/views.js'

/** A token as its user sees it. */
export type PersonalToken = {
  id: string
  name: string
  applications: readonly OpenedApplication[]
  createdAt: Date
  expiresAt: Date
  lastUsedAt: Date | null
}

const views = {
  id: true,
  name: true,
  applications: (applications) => [...applications],
  createdAt: isoTime,
  expiresAt: isoTime,
  lastUsedAt: (moment) => moment?.toISOString() ?? null,
} as const satisfies Views<PersonalToken, ShownToken>

export const personalTokenBody = (token: PersonalToken): ShownToken => showWith(views, token)
