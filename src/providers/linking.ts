import { type Refused, refuse } from '../contract/outcome.js'
import type { ProviderId } from '../contract/providers.js'

/**
 * The facts about an account that the policy needs. The email of an account counts as verified, because an account is created after the
 * proof of its address, or by an operator. One that was only typed, at the setup or with a printed link, is a reason for `mustNotLink`.
 */
export type LinkableAccount = { id: string; disabled: boolean; providers: readonly ProviderId[] }

export type Situation = {
  provider: ProviderId
  /** The account that has this identity: the provider and the user's id there. */
  owner: LinkableAccount | undefined
  /** The account with the email that the provider has verified. */
  accountWithEmail: LinkableAccount | undefined
  /**
   * Whether this identity was removed from the account with the email (on the account page, by an undo link or by an operator), or the
   * account may have the email of a thief, or one that was never proven.
   */
  mustNotLink: boolean
  /** The id of the account that had this email until a short time ago. */
  emailReservedFor: string | undefined
  /** The account to link to, if a signed-in user began the attempt. */
  linkingTo: LinkableAccount | undefined
}

export type LinkingRefusal = 'disabled' | 'other_identity' | 'identity_taken' | 'email_taken'

export type Decision =
  | { action: 'sign_in'; userId: string }
  | { action: 'link'; userId: string }
  | { action: 'create' }
  | Refused<LinkingRefusal>

/** Decides which account a proven identity belongs to. It is the whole policy, as a pure function. */
export const decide = (situation: Situation): Decision =>
  situation.linkingTo ? decideLink(situation, situation.linkingTo) : decideSignIn(situation)

const decideSignIn = ({ provider, owner, accountWithEmail, mustNotLink, emailReservedFor }: Situation): Decision => {
  // The identity decides before the email: an email can get another owner, even at the provider, but an identity cannot.
  if (owner) return owner.disabled ? refuse('disabled') : { action: 'sign_in', userId: owner.id }
  if (!accountWithEmail) return emailReservedFor === undefined ? { action: 'create' } : refuse('email_taken')
  if (accountWithEmail.disabled) return refuse('disabled')
  // A second identity of the same provider with this email means that the email has another owner there now.
  if (accountWithEmail.providers.includes(provider)) return refuse('other_identity')
  // Only the owner can link it, on the account page.
  if (mustNotLink) return refuse('other_identity')
  return { action: 'link', userId: accountWithEmail.id }
}

const decideLink = (situation: Situation, account: LinkableAccount): Decision => {
  const { provider, owner, accountWithEmail, emailReservedFor } = situation
  if (account.disabled) return refuse('disabled')
  if (owner) return owner.id === account.id ? { action: 'sign_in', userId: account.id } : refuse('identity_taken')
  if (account.providers.includes(provider)) return refuse('other_identity')
  // An email of another account is refused. Otherwise a user who was tricked into an attacker's session would let the attacker sign in with
  // the user's identity.
  const ownerOfEmail = accountWithEmail?.id ?? emailReservedFor
  if (ownerOfEmail !== undefined && ownerOfEmail !== account.id) return refuse('email_taken')
  return { action: 'link', userId: account.id }
}
