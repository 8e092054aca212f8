import { enrolmentMethods, type NextStep } from '../contract/factors.js'
import type { SecondFactorWaiting, TermsOfUse } from '../contract/schemas.js'

import type { TrustedDevices } from '../factors/trusted-devices.js'
import type { Challenge } from './challenges.js'
import type { Enrolments } from './enrolments.js'
import type { LastAnswers } from './last-answers.js'
import type { SignIns } from './sign-ins.js'

type Dependencies = {
  signIns: Pick<SignIns, 'methodsOf'>
  enrolments: Pick<Enrolments, 'missingProofOf'>
  lastAnswers: Pick<LastAnswers, 'fieldsOf'>
  termsOfUse: TermsOfUse | undefined
  trustedDevices: Pick<TrustedDevices, 'areOffered' | 'trustedFor'>
}

type NextQuestion = Partial<Omit<SecondFactorWaiting, 'next' | 'expiresAt'>>
const nothingAsked = {
  methods: [],
  mailedCodeRequired: false,
  linkRequired: false,
  passwordRequired: false,
  trustDevice: false,
  trustedFor: null,
}

/** Describes the next question of a sign-in that waits, for the browser. */
export const createNextQuestion = ({ signIns, enrolments, lastAnswers, termsOfUse, trustedDevices }: Dependencies) => {
  const steps: Record<NextStep, (challenge: Challenge) => Promise<NextQuestion>> = {
    second_factor: async ({ userId }) => {
      const methods = await signIns.methodsOf(userId)
      const trustDevice = methods.includes('totp') && trustedDevices.areOffered
      return { methods, trustDevice, trustedFor: trustDevice ? trustedDevices.trustedFor : null }
    },
    enrolment: async (challenge) => {
      const missing = await enrolments.missingProofOf(challenge)
      return {
        methods: [...enrolmentMethods],
        mailedCodeRequired: missing === 'mailed code',
        linkRequired: missing === 'link',
        passwordRequired: missing === 'password',
      }
    },
    profile: async ({ userId }) => ({ fields: [...(await lastAnswers.fieldsOf(userId))] }),
    terms: async () => (termsOfUse ? { terms: termsOfUse } : {}),
  }

  return async (challenge: Challenge): Promise<SecondFactorWaiting> => {
    const { kind: next, expiresAt } = challenge
    return { next, expiresAt: expiresAt.toISOString(), ...nothingAsked, ...(await steps[next](challenge)) }
  }
}
