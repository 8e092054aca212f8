import type { Consequences } from './account-change-columns.js'

/** Rows of the table of account changes that only send the owner a notice. Nothing of the account changes. */
export const accountNotices = {
  // A sign-in in a browser in which the account was not used before.
  new_device: {
    by: ['sign-in'],
    mail: 'new-device',
    undo: null,
    webhook: null,
    otherSessions: 'stay',
    thisSession: 'stays',
    withdrawsProofs: [],
    voids: [],
    event: null,
  },
  // The first request of an administrator in a session.
  admin_session_began: {
    by: ['caller'],
    mail: 'admin-session-began',
    undo: null,
    webhook: null,
    otherSessions: 'stay',
    thisSession: 'stays',
    withdrawsProofs: [],
    voids: [],
    event: 'admin_session_began',
  },
  device_trusted: {
    by: ['sign-in'],
    mail: 'device-trusted',
    undo: null,
    webhook: null,
    otherSessions: 'stay',
    thisSession: 'stays',
    withdrawsProofs: [],
    voids: [],
    event: null,
  },
  recovery_code_used: {
    by: ['sign-in'],
    mail: 'recovery-code-used',
    undo: null,
    webhook: null,
    otherSessions: 'stay',
    thisSession: 'stays',
    withdrawsProofs: [],
    voids: [],
    event: 'recovery_code_used',
  },
  wrong_codes: {
    by: ['sign-in'],
    mail: 'wrong-codes',
    undo: null,
    webhook: null,
    otherSessions: 'stay',
    thisSession: 'stays',
    withdrawsProofs: [],
    voids: [],
    event: null,
  },
  // The right password was entered, and the second step was not finished.
  sign_in_unfinished: {
    by: ['sign-in'],
    mail: 'sign-in-unfinished',
    undo: null,
    webhook: null,
    otherSessions: 'stay',
    thisSession: 'stays',
    withdrawsProofs: [],
    voids: [],
    event: null,
  },
} as const satisfies Record<string, Consequences>
