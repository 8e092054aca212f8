import { type AmrCountedAs, type AmrMethod, amrMethods, countFactors, isSecondFactor } from './factors.js'

/**
 * What a second factor is for everybody who names one. Three questions are asked about an account, and each has another answer.
 *
 * `asked`: does a first proof need this as a second step? A passkey does not ask by itself, or everybody with a password and a passkey would
 * be asked for the passkey at each sign-in. `counts`: does an account with nothing but this have a second factor? Such a factor can also be
 * added at an enrolment. Recovery codes only stand for an app. And every row can prove the second step, if the account has it.
 */
type SecondFactor = {
  /** The name of its proof in `amr`. */
  amr: AmrCountedAs<'second' | 'both'>
  asked: boolean
  counts: boolean
  /** What carries its proof in a request that proves again who the user is. */
  provenBy: 'code' | 'credential'
  /** Whether the user can trust a browser together with this proof. The browser stands for it from then on. */
  trustsBrowser: boolean
  /** Every wrong try of a code counts for the mail about wrong codes. Codes that can be guessed make the account wait. */
  wrongTries: 'make the account wait' | 'are only told' | 'are no codes'
  /** Its name in webhooks, and in the reason of an event that takes an account back. */
  changedAs: string
  /** The changes of it that a mail can undo. */
  undos: readonly string[]
}

/** What the service does with each is in `factors/second-factors`. In SQL the view `second_factors` has the same answers. */
export const secondFactors = {
  totp: {
    amr: 'otp',
    asked: true,
    counts: true,
    provenBy: 'code',
    trustsBrowser: true,
    wrongTries: 'make the account wait',
    changedAs: 'totp',
    undos: ['totp', 'totp_replaced'],
  },
  recovery_code: {
    amr: 'rec',
    asked: false,
    counts: false,
    provenBy: 'code',
    trustsBrowser: false,
    wrongTries: 'are only told',
    changedAs: 'recovery_codes',
    undos: [],
  },
  passkey: {
    amr: 'passkey',
    asked: false,
    counts: true,
    provenBy: 'credential',
    trustsBrowser: false,
    wrongTries: 'are no codes',
    changedAs: 'passkey',
    undos: ['passkey'],
  },
} as const satisfies Record<string, SecondFactor>

export type SecondFactorMethod = keyof typeof secondFactors
type Factors = typeof secondFactors
type FactorWith<Column extends 'counts'> = {
  [Name in SecondFactorMethod]: Factors[Name][Column] extends true ? Name : never
}[SecondFactorMethod]
export type CountingFactor = FactorWith<'counts'>
export type ChangedSecondFactor = Factors[SecondFactorMethod]['changedAs']
export type SecondFactorUndo = Factors[SecondFactorMethod]['undos'][number]

const allFactors = Object.keys(secondFactors) as SecondFactorMethod[]
const isBothFactors = (method: SecondFactorMethod) => amrMethods[secondFactors[method].amr] === 'both'

/** The methods that finish the second step of a sign-in, the best first. */
export const secondFactorMethods: readonly SecondFactorMethod[] = [
  ...allFactors.filter(isBothFactors),
  ...allFactors.filter((method) => !isBothFactors(method)),
]

/** The factors of which one is enough for an account. They can be added at an enrolment. */
export const countingFactors = allFactors.filter((method): method is CountingFactor => secondFactors[method].counts)

/** The factors that are a code which the user enters. */
export const codeFactors = allFactors.filter((method) => secondFactors[method].wrongTries !== 'are no codes')

/** What a row says of the proof with this name in `amr`. Undefined for a first proof. */
export const factorProvenBy = (amr: AmrMethod): SecondFactor | undefined =>
  Object.values(secondFactors).find((factor) => factor.amr === amr)

/** The ways in which an account can prove again who its user is, as the `methods` of a refusal name them. */
export const proofMethods = [...secondFactorMethods, 'password', 'mail'] as const

export type ProofMethod = (typeof proofMethods)[number]

/** What carries the proof of a method in a request. */
export type CarrierOf<Method extends ProofMethod> = Method extends SecondFactorMethod
  ? Factors[Method]['provenBy']
  : { password: 'password'; mail: 'mailedCode' }[Exclude<Method, SecondFactorMethod>]

/** The name that a proof has in `amr`. */
export const amrOfProof = (method: ProofMethod): AmrMethod => {
  if (method === 'password') return 'pwd'
  return method === 'mail' ? 'mail' : secondFactors[method].amr
}

export const secondFactorsAmong = (methods: readonly ProofMethod[]) =>
  methods.filter((method) => isSecondFactor(amrOfProof(method)))

/** The methods that lead to two factors, together with what was proven in the session before. */
export const reachingTwoFactors = (methods: readonly ProofMethod[], proven: readonly string[]) =>
  secondFactorsAmong(methods).filter((method) => countFactors([...proven, amrOfProof(method)]) === 2)
