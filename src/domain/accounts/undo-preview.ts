import { refuse } from '../../contract/outcome.js'
import type { Factors } from '../factors/factors.js'
import type { PasskeyRecords } from '../passkeys/passkey-records.js'
import { type Undos, undoLifetime } from '../undos/undos.js'
import type { IdentityLinks } from '../users/identity-links.js'
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
    const { username, language, ...recent } = clearingOf(user, await undos.openOf(user.id))
    const hasTotp = await factors.hasTotp(user.id)
    const totp = hasTotp && recent.totp === 'removed'
    const formerTotp = hasTotp && typeof recent.totp === 'object'
    const shownPasskeys = await passkeys.list(user.id)
    const namesOf = (areRecent: boolean) =>
      shownPasskeys.filter(({ id }) => recent.passkeys.includes(id) === areRecent).map(({ name }) => name)
    const identities = await identityLinks.identitiesOf(user.id)
    const isRecent = ({ provider, subject }: Identity) =>
      recent.identities.some((identity) => identity.provider === provider && identity.subject === subject)
    return {
      undo,
      user,
      /** The account afterwards. */
      email: undo.email,
      username,
      language,
      formerTotp,
      totp,
      recoveryCodes: !totp && (await factors.hasNewRecoveryCodes(user.id, undoLifetime)),
      passkeys: namesOf(true),
      providers: identities.filter(isRecent).map(({ provider }) => provider),
      /** The parts that stay, and may have been added by a thief before these days. */
      keeps: {
        totp: hasTotp && !totp,
        passkeys: namesOf(false),
        providers: identities.filter((identity) => !isRecent(identity)).map(({ provider }) => provider),
      },
    }
  }
