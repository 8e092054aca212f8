import type { MailLoginLink } from '#contract/mail-login.js'
import type { SecondFactorNeeded, SignedIn } from '#contract/schemas.js'
import { askService } from '../browser/page-calls.js'

type Account = { username?: string; fields?: Record<string, string | boolean | null>; terms?: string }

export const checkMailLink = (token: string) => askService<MailLoginLink>('mail-login/check', { token })
export const registerByMail = (account: Account) =>
  askService<SignedIn | SecondFactorNeeded>('mail-login/registration', account)
