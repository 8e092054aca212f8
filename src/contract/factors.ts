/** What finishes the second step of a sign-in. */
export const secondFactorMethods = ['passkey', 'totp', 'recovery_code'] as const
export type SecondFactorMethod = (typeof secondFactorMethods)[number]

/** What a sign-in goes on with: a proof of the account's factor, or adding the first one. */
export const nextSteps = ['second_factor', 'enrolment'] as const
export type NextStep = (typeof nextSteps)[number]

/** The factors that can be added at an enrolment. */
export const enrolmentMethods: readonly SecondFactorMethod[] = ['totp', 'passkey']

/** As `amr` names them: a code of the app, a recovery code, a passkey. Each proof of one has a time of its own in a session. */
const secondFactorProofs: readonly string[] = ['otp', 'rec', 'passkey']
export const isSecondFactor = (method: string) => secondFactorProofs.includes(method)

/**
 * One factor or two: a passkey is two by itself, a password or a provider needs a code beside it. A mailed code and a trusted
 * device never count.
 */
export const factorsOf = (methods: readonly string[]): 1 | 2 => {
  const has = (...wanted: string[]) => wanted.some((method) => methods.includes(method))
  return has('passkey') || (has('pwd', 'provider') && has('otp', 'rec')) ? 2 : 1
}
