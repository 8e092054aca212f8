import type { Account, Factors } from '#contract/schemas.js'
import type { PanelName } from './sections.js'

export type KnownFacts = {
  account: Pick<Account, 'hasPassword' | 'providers' | 'emailProven'>
  /** Undefined if the factors could not be loaded. */
  factors: Pick<Factors, 'totp' | 'recoveryCodes' | 'passkeys'> | undefined
  secondFactor: 'optional' | 'required'
  /** The providers that the operator still offers. */
  providers: readonly string[]
  /** Whether everyone can sign in with a mailed code. */
  mailSignIn: boolean
  /** Whether nothing is mailed, so that no address can be confirmed. */
  mailIsOff: boolean
  canAddPasskey: boolean
}

type Facts = KnownFacts & { factors: NonNullable<KnownFacts['factors']> }
type Rule = { place: PanelName; applies: (facts: Facts) => boolean }

const countWaysToSignIn = ({ account, factors, providers, mailSignIn }: Facts) =>
  Number(account.hasPassword) +
  Number(mailSignIn) +
  factors.passkeys.length +
  account.providers.filter((id) => providers.includes(id)).length

const fewCodesLeft = 3

/** The advice to the user, the most urgent first, each with its panel. The words of the page have a sentence for each. */
const rules = {
  secondStepMissing: {
    place: 'two-step',
    applies: ({ secondFactor, factors }) =>
      secondFactor === 'required' && factors.totp === null && factors.passkeys.length === 0,
  },
  noCodes: { place: 'two-step', applies: ({ factors }) => factors.totp !== null && factors.recoveryCodes.left === 0 },
  fewCodes: {
    place: 'two-step',
    applies: ({ factors }) => factors.totp !== null && factors.recoveryCodes.left <= fewCodesLeft,
  },
  emailNotProven: { place: 'email', applies: ({ account, mailIsOff }) => !account.emailProven && !mailIsOff },
  oneWay: { place: 'passkeys', applies: (facts) => facts.canAddPasskey && countWaysToSignIn(facts) === 1 },
} as const satisfies Record<string, Rule>

export type ToDo = keyof typeof rules

/** The most urgent advice; undefined if there is nothing to do. */
export const firstToDo = ({ factors, ...known }: KnownFacts): { name: ToDo; place: PanelName } | undefined => {
  if (!factors) return undefined
  const facts = { ...known, factors }
  const found = (Object.entries(rules) as [ToDo, Rule][]).find(([, { applies }]) => applies(facts))
  return found && { name: found[0], place: found[1].place }
}
