import { isSecondFactor, type Method } from '../../contract/factors.js'

/** How the user of a session has proven who they are, when they last did, and when they last did by a second factor. */
export type Proof = { methods: readonly string[]; provenAt: Date; secondFactorAt: Date | null }

/** The proof as it is stored. */
export type ProofRow = { methods: string[]; authenticated_at: Date; second_factor_at: Date | null }

export const proofOf = ({ methods, authenticated_at, second_factor_at }: ProofRow): Proof => ({
  methods,
  provenAt: authenticated_at,
  secondFactorAt: second_factor_at,
})

/** The change of the proof of a session that gets new tokens: one more method, or without those of a factor that was removed. */
export type ProofChange = { proven?: Method; withdrawn?: readonly Method[] }

/** The time of a session that is signed in, and not fresh before a step-up. */
export const neverProven = new Date(0)

/** A second factor is proven at the sign-in itself; what came before it may be older. */
export const firstProof = (methods: readonly Method[], now: Date, provenAt = now): Proof => ({
  methods,
  provenAt,
  secondFactorAt: methods.some(isSecondFactor) ? now : null,
})

const withProven = ({ methods, secondFactorAt }: Proof, proven: Method, now: Date): Proof => ({
  methods: [...new Set([...methods, proven])],
  provenAt: now,
  secondFactorAt: isSecondFactor(proven) ? now : secondFactorAt,
})

/** Which of the second factors was proven last is not stored, so the time goes with each of them. */
const withoutMethods = ({ methods, provenAt, secondFactorAt }: Proof, withdrawn: readonly string[]): Proof => {
  const remaining = methods.filter((method) => !withdrawn.includes(method))
  return { methods: remaining, provenAt, secondFactorAt: remaining.length === methods.length ? secondFactorAt : null }
}

export const changedProof = (proof: Proof, { proven, withdrawn = [] }: ProofChange, now: Date): Proof => {
  const remaining = withoutMethods(proof, withdrawn)
  return proven === undefined ? remaining : withProven(remaining, proven, now)
}
