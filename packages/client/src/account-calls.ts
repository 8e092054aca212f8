import type { AccountExport } from '#contract/account-export.js'
import type { Account, AccountPatch, SignedIn } from '#contract/schemas.js'
import type { Answer } from './answers.js'
import type { Presence } from './presence.js'
import type { Method } from './requests.js'

type Change = <Value = undefined>(method: Method, path: string, body: object) => Promise<Answer<Value>>
type Ways = {
  read: <Value>(path: string) => Promise<Answer<Value>>
  change: Change
  /** For changes that give the session new tokens. */
  replaceTokens: Change
  learn: Presence['learn']
  signOut: (answering: Promise<Answer<undefined>>) => Promise<Answer<undefined>>
}

/** What users do with their account itself. */
export const createAccountCalls = ({ read, change, replaceTokens, learn, signOut }: Ways) => ({
  account: () => read<{ user: Account }>('account'),
  /** A new username needs a fresh sign-in. The tokens have it at once. The language is that of mails about the account. */
  changeAccount: async (changes: AccountPatch) => {
    const answer = await replaceTokens<SignedIn>('PATCH', 'account', changes)
    if (!answer.refused) learn(answer.value.user, 'this_tab')
    return answer
  },
  /** Everything that is stored about the user. */
  exportData: () => read<AccountExport>('export'),
  /** Deletes the account for good. The username is a sign that the user means it. */
  deleteAccount: (sure: { username: string }) => signOut(change('POST', 'delete-account', sure)),
})
