import type { AccountExport, LinkedAccount } from '#contract/account-export.js'
import type { ProfileFieldDefinition } from '#contract/profile-fields.js'
import { type ProviderId, providerPath } from '#contract/providers.js'
import type { Account, AccountPatch, SignedIn } from '#contract/schemas.js'

import type { Sending } from './sending.js'

/** Both addresses of the account page. */
export type AccountPage = '/dashboard' | '/api/auth/account-page'

/** Calls of users about their account itself, and its providers. */
export const createAccountCalls = (sending: Sending) => ({
  account: () =>
    sending.read<{ user: Account; fields: ProfileFieldDefinition[]; linkedAccounts: LinkedAccount[] }>('account'),
  /** A new username needs a fresh sign-in, and the new tokens have it at once. `language` is the language of mails about the account. */
  changeAccount: async (changes: AccountPatch) => {
    const answer = await sending.replaceTokens<SignedIn>('PATCH', 'account', changes)
    if (!answer.refused) sending.asking()(answer.value.user, 'this_tab')
    return answer
  },
  /** Everything that is stored about the user. */
  exportData: () => sending.read<AccountExport>('export'),
  /** Deletes the account for good. The user types the username to show that they mean it. */
  deleteAccount: (confirmation: { username: string }) =>
    sending.signOut(sending.change('POST', 'delete-account', confirmation)),
  /** Go to the `location` of the answer. The provider sends the user back to the account page, which finishes the link. */
  linkProvider: (id: ProviderId, page: { returnTo?: AccountPage } = {}) =>
    sending.change<{ location: string }>('POST', `${pathOf(id)}/link`, page),
  finishLink: (id: ProviderId) => sending.change('POST', `${pathOf(id)}/link/finish`, {}),
  unlinkProvider: (id: ProviderId) => sending.change('DELETE', pathOf(id)),
})

const pathOf = (id: ProviderId) => `providers/${providerPath(id)}`
