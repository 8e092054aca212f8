import { type AmrMethod, countFactors, isSecondFactor } from './factors.js'

/** The ways in which an account can prove again who its user is, as the `methods` of a refusal name them. */
export const proofMethods = ['passkey', 'totp', 'recovery_code', 'password', 'mail'] as const

export type ProofMethod = (typeof proofMethods)[number]

/** The name that each proof has in `amr`. */
export const amrOfProof: Record<ProofMethod, AmrMethod> = {
  passkey: 'passkey',
  totp: 'otp',
  recovery_code: 'rec',
  password: 'pwd',
  mail: 'mail',
}

export const secondFactorsAmong = (methods: readonly ProofMethod[]) =>
  methods.filter((method) => isSecondFactor(amrOfProof[method]))

/** The methods that lead to two factors, together with what was proven in the session before. */
export const reachingTwoFactors = (methods: readonly ProofMethod[], proven: readonly string[]) =>
  secondFactorsAmong(methods).filter((method) => countFactors([...proven, amrOfProof[method]]) === 2)
