import { type Undos, undoLifetime } from '../account-changes/undos.js'
import { refuse } from '../contract/outcome.js'
import type { PasskeyRecords } from '../factors/passkeys.js'
import type { Factors } from '../factors/second-factors.js'

import type { IdentityLinks } from '../providers/identity-links.js'
import type { Identity, Users } from '../users/users.js'
import { clearingOf } from './recent-changes.js'

type Dependencies = {
  users: Pick<Users, 'findById'>
  identityLinks: Pick<IdentityLinks, 'identitiesOf'>
  factors: Pick<Factors, 'hasTotp' | 'hasNewRecoveryCodes'>
  passkeys: Pick<PasskeyRecords, 'list'>
  undos: Pick<Undos, 'find' | 'openOf'>
}

export type UndoPreview = ReturnType<typeof createUndoPreview>

/** Describes what an undo link would do now. Changes nothing. */
export const createUndoPreview =
  ({ users, identityLinks, factors, passkeys, undos }: Dependencies) =>
  async (token: string) => {
    const undo = await undos.find(token)
    const user = undo && (await users.findById(undo.userId))
    if (!user) return refuse('invalid_link')
    const { username, language, ...clearing } = clearingOf(user, await undos.openOf(user.id))
    const hasTotp = await factors.hasTotp(user.id)
    const removesTotp = hasTotp && clearing.totp === 'removed'
    const restoresTotp = hasTotp && typeof clearing.totp === 'object'
    const accountPasskeys = await passkeys.list(user.id)
    const passkeyNames = (areRecent: boolean) =>
      accountPasskeys.filter(({ id }) => clearing.passkeys.includes(id) === areRecent).map(({ name }) => name)
    const identities = await identityLinks.identitiesOf(user.id)
    const isRecent = ({ provider, subject }: Identity) =>
      clearing.identities.some((identity) => identity.provider === provider && identity.subject === subject)
    return {
      undo,
      user,
      /** The email, username and language that the account would have. */
      email: undo.email,
      username,
      language,
      /** Whether the former app would work again, and which parts would be removed. */
      formerTotp: restoresTotp,
      totp: removesTotp,
      recoveryCodes: !removesTotp && (await factors.hasNewRecoveryCodes(user.id, undoLifetime)),
      passkeys: passkeyNames(true),
      providers: identities.filter(isRecent).map(({ provider }) => provider),
      /** The parts that stay. A thief may have added them more than seven days ago. */
      keeps: {
        totp: hasTotp && !removesTotp,
        passkeys: passkeyNames(false),
        providers: identities.filter((identity) => !isRecent(identity)).map(({ provider }) => provider),
      },
    }
  }
