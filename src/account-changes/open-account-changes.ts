import type { ApplicationsRoom } from '../applications/open-applications.js'
import { refuse } from '../contract/outcome.js'
import type { MessagesRoom } from '../messages/open-messages.js'
import type { Platform } from '../platform/platform.js'
import type { SessionsRoom } from '../sessions/open-sessions.js'
import type { ChangeByOldToken } from '../sessions/rotation.js'
import type { UsersRoom } from '../users/open-users.js'
import { createAccountChanges, createFieldChanges } from './account-changes.js'
import { createUndos } from './undos.js'

export type AccountChangesRoom = ReturnType<typeof openAccountChanges>

/** Every change of an account: how it is made, what follows from it, how many a session may cause, and how it is taken back. */
export const openAccountChanges = (
  { database, clock, cache, metrics }: Platform,
  below: UsersRoom & SessionsRoom & MessagesRoom & ApplicationsRoom,
) => {
  const undos = createUndos({ database, clock })
  const onLimited = () => metrics?.countRejection('account_changes')
  const accountChanges = createAccountChanges({ ...below, database, cache, undos, onLimited })
  const changeByOldToken: ChangeByOldToken = (context, end) =>
    accountChanges.byOldToken(context, 'session_stolen', async (sql) =>
      (await end(sql)) ? { changes: { session_stolen: { event: { reason: 'old_token' } } } } : refuse('ended'),
    )
  return { undos, accountChanges, changeByOldToken, fieldChanges: createFieldChanges(accountChanges, below) }
}
