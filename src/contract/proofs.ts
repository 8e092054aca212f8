/** The ways in which an account can prove again who its user is, as the `methods` of a refusal name them. */
export const proofMethods = ['passkey', 'totp', 'recovery_code', 'password', 'mail'] as const

export type ProofMethod = (typeof proofMethods)[number]

/** Those that make a session one with two factors, together with what it began with. */
const secondFactors: readonly ProofMethod[] = ['passkey', 'totp', 'recovery_code']

export const reachingTwoFactors = (methods: readonly ProofMethod[]) =>
  methods.filter((method) => secondFactors.includes(method))
