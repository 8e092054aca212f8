import type { AccountExport } from '#contract/account-export.js'
import { askService } from '../browser/page-calls.js'

/** For users who have proven who they are, but do not finish the sign-in. There is no session yet. */
export const exportAccountBeforeSession = () => askService<AccountExport>('second-factor/export')
export const deleteAccountBeforeSession = (confirmation: { username: string }) =>
  askService<undefined>('second-factor/delete', confirmation)
