import type { ProviderId } from './providers.js'

/**
 * The steps of a sign-in before its proofs are complete. `second_factor`: the user proves the second factor of the account. `enrolment`: the
 * account has none, and the user adds one.
 */
const proofSteps = ['second_factor', 'enrolment'] as const
export type ProofStep = (typeof proofSteps)[number]
/** The steps after the proofs: fields that are missing, then the terms. */
export const openQuestions = ['profile', 'terms'] as const
export type OpenQuestion = (typeof openQuestions)[number]
export const nextSteps = [...proofSteps, ...openQuestions] as const
export type NextStep = (typeof nextSteps)[number]

/**
 * Every proof by its name in `amr` of tokens, and what it counts as. `second` is a second factor beside a `first` one, `both` is two
 * factors by itself. The trigger `session_needs_second_factor` has the same list of second factors.
 */
export const amrMethods = {
  pwd: 'first',
  provider: 'first',
  mail: 'first',
  otp: 'second',
  rec: 'second',
  passkey: 'both',
} as const satisfies Record<string, 'first' | 'second' | 'both'>

export type AmrMethod = keyof typeof amrMethods

/** The methods that count as this part. */
export type AmrCountedAs<Part> = {
  [Name in AmrMethod]: (typeof amrMethods)[Name] extends Part ? Name : never
}[AmrMethod]

/** The second factors that are a code which the user enters. */
export type CodeMethod = AmrCountedAs<'second'>
const isCodeMethod = (method: AmrMethod): method is CodeMethod => amrMethods[method] === 'second'
export const codeMethods = (Object.keys(amrMethods) as AmrMethod[]).filter(isCodeMethod)

export const methodsCountingAs = (part: (typeof amrMethods)[AmrMethod]) =>
  (Object.keys(amrMethods) as AmrMethod[]).filter((method) => amrMethods[method] === part)

/** A later release may know more methods. A method that this release does not know never counts. */
const countsAs = (method: string) => (Object.hasOwn(amrMethods, method) ? amrMethods[method as AmrMethod] : 'none')

/** Whether the method is a code of the app, a recovery code or a passkey. A session stores the time of such a proof separately. */
export const isSecondFactor = (method: string) => ['second', 'both'].includes(countsAs(method))

/**
 * How many factors were proven. A password, a provider or a mail is one, and needs a code beside it for two. A trusted device never
 * counts.
 */
export const countFactors = (proven: readonly string[]): 1 | 2 => {
  const has = (part: string) => proven.some((method) => countsAs(method) === part)
  return has('both') || (has('first') && has('second')) ? 2 : 1
}

const groupLength = 4

/** A code as users read it: `U68K-3AC5`. Mails and pages show every code of letters and digits in this form. */
export const inGroups = (code: string) => (code.match(new RegExp(`.{1,${groupLength}}`, 'g')) ?? []).join('-')

/** A code as a user typed or pasted it: small letters, spaces and dashes make no difference. */
export const withoutGroups = (typed: string) => typed.toUpperCase().replaceAll(/[^A-Z0-9]/g, '')

/** How metrics and events name what began a session. The session of a device begins from another session. */
export type SignInLabel = 'password' | 'registration' | 'setup' | 'reset' | 'mail' | 'passkey' | 'device' | ProviderId
