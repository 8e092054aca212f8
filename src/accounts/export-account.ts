import { refuse } from '../contract/outcome.js'
import type { Users } from '../users/users.js'
import type { createAccountData } from './account-data.js'

type Dependencies = { users: Pick<Users, 'findEnabled'>; accountData: ReturnType<typeof createAccountData> }

/** Exports the data of the caller. */
export const createExportAccount =
  ({ users, accountData }: Dependencies) =>
  async (userId: string) => {
    const user = await users.findEnabled(userId)
    return user ? accountData(user) : refuse('not_authenticated')
  }
