import { createUserImport } from './user-import.js'
import { createUserLists } from './user-lists.js'

export type { ListedUser } from './user-lists.js'

export type BulkUsers = ReturnType<typeof createBulkUsers>

/** Handles many users at once, for the command line. No request uses it. */
export const createBulkUsers = (deps: Parameters<typeof createUserImport>[0]) => ({
  ...createUserImport(deps),
  ...createUserLists(deps),
})
