// This file has no schemas, because pages load it and must not load the library of the schemas.

/**
 * The API of administrators, below `/api/auth/admin/api`. A user who is in neither ADMIN_GROUP nor SUPPORT_GROUP gets 404. A member
 * gets 403 `fresh_sign_in_required` with `methods` if the last proof by a second factor is older than 8 hours; a change needs a more
 * recent proof, like every sensitive change, and one of applications, settings and accounts of members a proof of the last 5 minutes. If `methods` is empty, the account must first add a second factor.
 */
export const adminPath = '/api/auth/admin/api'

/** The number of users in a page. */
export const adminPageSize = 50
export const adminEventsPageSize = 100
export const longestReason = 200

/** `POST /users/:id/…`. Actions that take something away need a reason. */
export const userActions = {
  disable: { needsReason: true },
  enable: { needsReason: false },
  'end-sessions': { needsReason: true },
  'reset-factors': { needsReason: true },
  'send-reset': { needsReason: false },
  'lock-down': { needsReason: true },
  'clear-limits': { needsReason: false },
} as const satisfies Record<string, { needsReason: boolean }>
export type UserAction = keyof typeof userActions

/** The variables about looks, words, profile fields, terms and links, which the page shows and cannot change. */
export const shownVariables = [
  'PRODUCT_NAME',
  'ACCENT_COLOR',
  'PRODUCT_LOGO_URL',
  'THEME_FILE',
  'WORDS_FILE',
  'PROFILE_FIELDS_FILE',
  'TERMS_URL',
  'TERMS_VERSION',
  'PRIVACY_URL',
  'IMPRINT_URL',
  'SUPPORT_URL',
] as const
export type ShownVariable = (typeof shownVariables)[number]
