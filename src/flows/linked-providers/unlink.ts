import { isRefused, refuse } from '../../contract/outcome.js'
import type { ProviderId } from '../../contract/providers.js'
import type { Events } from '../../domain/events/events.js'
import type { Passkeys } from '../../domain/passkeys/passkeys.js'
import type { Client } from '../../domain/sessions/client.js'
import type { SessionCaller, Sessions } from '../../domain/sessions/sessions.js'
import type { Users } from '../../domain/users/users.js'
import type { Database } from '../../platform/database/database.js'

type Dependencies = {
  database: Database
  users: Users
  passkeys: Pick<Passkeys, 'countUsable'>
  sessions: Sessions
  events: Events
}
type Request = { provider: ProviderId | undefined; caller: SessionCaller; client: Client }

/** Removes a linked provider, unless it is the last way to sign in. */
export const createUnlink =
  ({ database, users, passkeys, sessions, events }: Dependencies) =>
  async ({ provider, caller, client }: Request) => {
    if (!provider) return refuse('not_found')
    if (!(await sessions.isLive(caller))) return refuse('not_authenticated')
    const { userId, sessionId } = caller
    const unlinked = await database.transaction(async (sql) => {
      const user = await users.lockWithWaysIn(sql, userId)
      if (!user) return refuse('not_linked')
      return users.unlinkProvider(sql, user, provider, (await passkeys.countUsable(userId, sql)) > 0)
    })
    if (isRefused(unlinked)) return unlinked.refused === 'not_linked' ? refuse('not_found') : refuse('last_way_in')
    await events.record({ kind: 'provider_unlinked', userId, sessionId, provider }, client)
    return undefined
  }
