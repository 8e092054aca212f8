import type { AccountExport } from '#contract/account-export.js'
import { askService } from '../browser/page-calls.js'

/** What users can do who have given every proof and do not want to go on. */
export const exportBeforeSession = () => askService<AccountExport>('second-factor/export')
export const deleteBeforeSession = (sure: { username: string }) => askService<undefined>('second-factor/delete', sure)
