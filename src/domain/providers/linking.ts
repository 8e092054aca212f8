import { type Refused, refuse } from '../../contract/outcome.js'
import type { ProviderId } from '../../contract/providers.js'

/** What the policy needs to know of an account. Every account's address is proven: none exists before that. */
export type Account = { id: string; disabled: boolean; providers: readonly ProviderId[] }

export type Situation = {
  provider: ProviderId
  /** The account that holds this very identity, which is the pair of provider and the provider's id. */
  owner: Account | undefined
  /** The account with the email that the provider has verified. */
  namesake: Account | undefined
  /** Whether a stranger may become a user at all. */
  registration: 'open' | 'closed'
  /** The account that asked to be linked, when somebody who is signed in began this. */
  linkingTo?: Account | undefined
}

export type LinkingRefusal = 'disabled' | 'other_identity' | 'identity_taken' | 'email_taken' | 'registration_closed'

export type Decision =
  | { action: 'sign_in'; userId: string }
  | { action: 'link'; userId: string }
  | { action: 'create' }
  | Refused<LinkingRefusal>

/** Who a proven identity belongs to. All of it is here, and nothing here asks or changes anything. */
export const decide = (situation: Situation): Decision =>
  situation.linkingTo ? decideLink(situation, situation.linkingTo) : decideSignIn(situation)

const decideSignIn = ({ provider, owner, namesake, registration }: Situation): Decision => {
  // The identity comes first: an address may change hands, also at the provider, and the identity does not.
  if (owner) return owner.disabled ? refuse('disabled') : { action: 'sign_in', userId: owner.id }
  if (!namesake) return registration === 'open' ? { action: 'create' } : refuse('registration_closed')
  if (namesake.disabled) return refuse('disabled')
  // The same address under a second identity of one provider was given to somebody else there.
  if (namesake.providers.includes(provider)) return refuse('other_identity')
  return { action: 'link', userId: namesake.id }
}

const decideLink = ({ provider, owner, namesake }: Situation, account: Account): Decision => {
  if (account.disabled) return refuse('disabled')
  if (owner) return owner.id === account.id ? { action: 'sign_in', userId: account.id } : refuse('identity_taken')
  if (account.providers.includes(provider)) return refuse('other_identity')
  // Somebody lured into a stranger's session would otherwise give that stranger their own way in for good.
  if (namesake && namesake.id !== account.id) return refuse('email_taken')
  return { action: 'link', userId: account.id }
}
