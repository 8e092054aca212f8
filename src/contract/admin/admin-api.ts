// Apart from the schemas: pages load this, and not the library that schemas are made with.

/**
 * The API of administrators, below `/api/auth/admin/api`. Everyone who is in neither group gets 404. A member gets 403
 * `fresh_sign_in_required` with `methods` if the last proof by a second factor is older than 8 hours; a change asks
 * for a recent one, like every sensitive change. No methods: the account has no second factor, and must add one first.
 */
export const adminPath = '/api/auth/admin/api'

/** Users of a page. */
export const adminPageSize = 50
export const adminEventsPageSize = 100
export const longestReason = 200

/** `POST /users/:id/…`. Those that take something away need the reason. */
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
