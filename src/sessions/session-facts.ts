import { type AmrMethod, isSecondFactor } from '../contract/factors.js'
import type { Client } from '../http/request-origin.js'

/** How the user of a session has proven who they are, the time of the last proof, and the time of the last proof by a second factor. */
export type Proof = { methods: readonly string[]; provenAt: Date; secondFactorAt: Date | null }

/** The proof as it is stored. */
export type ProofRow = { methods: string[]; authenticated_at: Date; second_factor_at: Date | null }

export const proofOf = ({ methods, authenticated_at, second_factor_at }: ProofRow): Proof => ({
  methods,
  provenAt: authenticated_at,
  secondFactorAt: second_factor_at,
})

/** A change of the proof of a session that gets new tokens: a method is added, or the methods of a removed factor are withdrawn. */
export type ProofChange = { proven?: AmrMethod; withdrawn?: readonly AmrMethod[] }

/** The time of proof of a session that is signed in, but not fresh before a step-up. */
export const neverProven = new Date(0)

/** The second factor is proven at the sign-in itself, while the first proof may be older. */
export const initialProof = (methods: readonly AmrMethod[], now: Date, provenAt = now): Proof => ({
  methods,
  provenAt,
  secondFactorAt: methods.some(isSecondFactor) ? now : null,
})

const withProven = ({ methods, secondFactorAt }: Proof, proven: AmrMethod, now: Date): Proof => ({
  methods: [...new Set([...methods, proven])],
  provenAt: now,
  secondFactorAt: isSecondFactor(proven) ? now : secondFactorAt,
})

/** Which second factor was proven last is not stored, so withdrawing any of them clears the time. */
const withoutMethods = ({ methods, provenAt, secondFactorAt }: Proof, withdrawn: readonly string[]): Proof => {
  const remaining = methods.filter((method) => !withdrawn.includes(method))
  return { methods: remaining, provenAt, secondFactorAt: remaining.length === methods.length ? secondFactorAt : null }
}

export const changedProof = (proof: Proof, { proven, withdrawn = [] }: ProofChange, now: Date): Proof => {
  const remaining = withoutMethods(proof, withdrawn)
  return proven === undefined ? remaining : withProven(remaining, proven, now)
}

/** The session of a signed-in caller, and the generation of the token that was used. */
export type SessionCaller = { sessionId: string; userId: string; generation: number }

/** Where a request comes from: the client, and the session if the user is signed in. */
export type RequestContext = { client: Client; caller?: SessionCaller | undefined }

/** A browser that signs in, and what it has from earlier sign-ins. */
export type Visit = {
  client: Client
  trustedDevices: readonly string[]
  /** Undefined if the browser has not sent this cookie, although it may have it. */
  knownDevices: readonly string[] | undefined
  /** The session whose refresh token the browser has sent. It ends when another session begins in this browser. */
  earlierSession: { userId: string; sessionId: string } | undefined
}

/** The context of a request that needs a session. */
export type CallerContext = RequestContext & { caller: SessionCaller }
