/** The ways in which an account can prove again who its user is, as the `methods` of a refusal name them. */
export const proofMethods = ['totp', 'recovery_code', 'password', 'mail'] as const

export type ProofMethod = (typeof proofMethods)[number]

/** Those that make a session one with two factors, together with what it began with. */
const secondFactors: readonly ProofMethod[] = ['totp', 'recovery_code']

/** Whether the account can get a session with two factors at all. */
export const reachesTwoFactors = (methods: readonly ProofMethod[]) =>
  methods.some((method) => secondFactors.includes(method))
