import { isRefused, refuse } from '../../contract/outcome.js'
import type { ProviderId } from '../../contract/providers.js'
import type { Events } from '../../domain/events/events.js'
import type { Passkeys } from '../../domain/passkeys/passkeys.js'
import type { Client } from '../../domain/sessions/client.js'
import { createLockedAccount } from '../../domain/sessions/locked-account.js'
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
export const createUnlink = ({ users, passkeys, events, ...rest }: Dependencies) => {
  const change = createLockedAccount({ users, ...rest })
  return async ({ provider, caller, client }: Request) => {
    if (!provider) return refuse('not_found')
    const { userId, sessionId } = caller
    const unlinked = await change(caller, async (sql, user) => {
      const gone = await users.unlinkProvider(sql, user, provider, (await passkeys.countUsable(userId, sql)) > 0)
      return gone?.refused === 'not_linked' ? refuse('not_found') : gone
    })
    if (isRefused(unlinked)) return unlinked
    await events.record({ kind: 'provider_unlinked', userId, sessionId, provider }, client)
    return undefined
  }
}
