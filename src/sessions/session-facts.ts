import { type Static, Type } from 'typebox'
import { Check } from 'typebox/schema'
import { type AmrMethod, amrMethods, isSecondFactor } from '../contract/factors.js'
import { OneOf } from '../contract/refusal-bodies.js'
import { Nullable, Provider } from '../contract/schemas.js'
import type { Client } from '../http/request-origin.js'

/**
 * Since when a session is fresh: since it begins (`now`), since an earlier proof (in milliseconds), or not before a step-up (`never`). The
 * row of a session has a time in its place.
 */
export const FreshSince = Type.Union([Type.Literal('now'), Type.Literal('never'), Type.Integer()])
export type FreshSince = Static<typeof FreshSince>

/**
 * What a session carries from its sign-in, as far as it is known. A sign-in begins with `factsAtStart`, and each proof adds to them. What
 * waits for another request (a second step, the way to a provider, a mail) carries the whole object. The row of the session has a column
 * for each, and every statement that gives tokens returns them all. No property is optional, so the compiler asks for a new one.
 */
export const SessionFacts = Type.Object({
  methods: Type.Array(OneOf(Object.keys(amrMethods) as AmrMethod[])),
  freshSince: FreshSince,
  /** The provider at which the user signed in. */
  provider: Nullable(Provider),
  /** The device that needs no second factor. */
  trustedDevice: Nullable(Type.String()),
})
export type SessionFacts = Static<typeof SessionFacts>

/** What only a proof adds. */
const nothingProven = {
  methods: [],
  freshSince: 'never',
  provider: null,
  trustedDevice: null,
} satisfies Partial<SessionFacts>
type ProvenFact = keyof typeof nothingProven

/** Every other fact. Each request with which a sign-in begins has to choose them; today there is none. */
export type ChosenFacts = Omit<SessionFacts, ProvenFact>

/** Before the first proof. */
export const factsAtStart = (chosen: ChosenFacts): SessionFacts => ({ ...nothingProven, ...chosen })

/** Without the proofs that are missing yet, for a cookie, in which each byte counts. */
export const shortFacts = (facts: SessionFacts): Partial<SessionFacts> =>
  Object.fromEntries(
    Object.entries(facts).filter(
      ([name, value]) => JSON.stringify(value) !== JSON.stringify(nothingProven[name as ProvenFact]),
    ),
  )
export const wholeFacts = (short: Partial<SessionFacts>): SessionFacts => ({ ...nothingProven, ...short })

/** Both proofs were given. The first may be older, but a second factor is always proven at the sign-in itself. */
export const withSecondProof = (facts: SessionFacts, method: AmrMethod): SessionFacts => ({
  ...facts,
  methods: [...facts.methods, method],
  freshSince: 'now',
})

/** Facts that were stored. Undefined if another release has stored them in another form: such a sign-in is over. */
export const readFacts = (stored: unknown): SessionFacts | undefined =>
  Check(SessionFacts, stored) ? stored : undefined

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

/** `never`, in the row of a session. */
export const neverProven = new Date(0)

/** The second factor is proven at the sign-in itself, while the first proof may be older. */
export const initialProof = (methods: readonly AmrMethod[], now: Date, freshSince: FreshSince): Proof => ({
  methods,
  provenAt: freshSince === 'now' ? now : freshSince === 'never' ? neverProven : new Date(freshSince),
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

/** The browser of a request, and what it has from earlier sign-ins. */
export type Browser = {
  client: Client
  trustedDevices: readonly string[]
  /** Undefined if the browser has not sent this cookie, although it may have it. */
  knownDevices: readonly string[] | undefined
  /** The session whose refresh token the browser has sent. It ends when another session begins in this browser. */
  earlierSession: { userId: string; sessionId: string } | undefined
}

/**
 * A browser with its first proof. The facts are those of the request with which the sign-in began, so a further step takes a `Browser`
 * and the facts that have waited.
 */
export type Visit = Browser & { facts: SessionFacts }

/** The context of a request that needs a session. */
export type CallerContext = RequestContext & { caller: SessionCaller }
