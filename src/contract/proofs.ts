/** The ways in which an account can prove again who its user is, as the `methods` of a refusal name them. */
export const proofMethods = ['password', 'mail'] as const

export type ProofMethod = (typeof proofMethods)[number]
