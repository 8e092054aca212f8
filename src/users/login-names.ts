import { type Refused, refuse } from '../contract/outcome.js'
import type { RefusalCode } from '../contract/refusals.js'
import { isUniqueViolation } from '../platform/database/database.js'
import { emailKey, usernameKey } from './names.js'

type LoginName = {
  /** Whether a text in the sign-in form is meant as this name. The first row that says so counts. */
  isMeant: (typed: string) => boolean
  /** Names with the same key are the same name. */
  keyOf: (typed: string) => string
  /** What PostgreSQL and the triggers report when another account has the name, or had it a short time ago. */
  constraint: string
  taken: RefusalCode
}

/** The names with which a user signs in. What is done for each elsewhere is a record over these rows. */
export const loginNames = {
  // No username has an at-sign.
  email: {
    isMeant: (typed) => typed.includes('@'),
    keyOf: emailKey,
    constraint: 'users_email_taken',
    taken: 'email_taken',
  },
  username: {
    isMeant: () => true,
    keyOf: usernameKey,
    constraint: 'users_username_taken',
    taken: 'username_taken',
  },
} as const satisfies Record<string, LoginName>

export type LoginNameKind = keyof typeof loginNames

export const loginNameKinds = Object.keys(loginNames) as LoginNameKind[]

/** What a text in the sign-in form is, and its key. */
export const readLogin = (typed: string) => {
  const kind = loginNameKinds.find((each) => loginNames[each].isMeant(typed)) ?? 'username'
  return { kind, key: loginNames[kind].keyOf(typed) }
}

/** The keys that a text has as each kind of name, for a search. */
export const keysOfText = (text: string) =>
  Object.fromEntries(loginNameKinds.map((kind) => [kind, loginNames[kind].keyOf(text)])) as Record<
    LoginNameKind,
    string
  >

export const isNameViolation = (error: unknown, kind: LoginNameKind) =>
  isUniqueViolation(error, loginNames[kind].constraint)

export type NameTaken = Refused<(typeof loginNames)[LoginNameKind]['taken']>

/** For the `catch` of a change that gives an account its names: another request may just have taken one. */
export const refuseTakenName = (error: unknown): NameTaken => {
  const kind = loginNameKinds.find((each) => isNameViolation(error, each))
  if (!kind) throw error
  return refuse(loginNames[kind].taken)
}
