import type { AccountExport } from '#contract/account-export.js'
import { askService } from '../browser/client.js'

/** Calls for users who have proven their identity but do not finish the sign-in, so that there is no session yet. */
export const exportAccountBeforeSession = () => askService<AccountExport>('second-factor/export')
export const deleteAccountBeforeSession = (confirmation: { username: string }) =>
  askService<undefined>('second-factor/delete', confirmation)
