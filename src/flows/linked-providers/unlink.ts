import { refuse } from '../../contract/outcome.js'
import type { ProviderId } from '../../contract/providers.js'
import type { Events } from '../../domain/events/events.js'
import type { Mails } from '../../domain/mails/mails.js'
import type { Passkeys } from '../../domain/passkeys/passkeys.js'
import type { Providers } from '../../domain/providers/providers.js'
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
  providers: Providers
  mails: Mails
  events: Events
}
type Request = { provider: ProviderId | undefined; caller: SessionCaller; client: Client }

/** Removes a linked provider, unless it is the last way to sign in. The other sessions that began with it end. */
export const createUnlink = ({ database, users, sessions, passkeys, providers, mails, events }: Dependencies) => {
  const change = createLockedAccount({ database, users, sessions })
  return async ({ provider, caller, client }: Request) => {
    if (!provider) return refuse('not_found')
    const { userId, sessionId } = caller
    return change(caller, async (sql, user) => {
      const hasPasskey = (await passkeys.countUsable(userId, sql)) > 0
      const isConfigured = (id: ProviderId) => providers[id] !== undefined
      const refused = await users.unlinkProvider(sql, user, provider, { hasPasskey, isConfigured })
      if (refused) return refused.refused === 'not_linked' ? refuse('not_found') : refused
      await sessions.endOfProvider(sql, userId, provider, sessionId)
      const values = { username: user.username, providerName: providers[provider]?.name ?? provider }
      await mails.queue(sql, { to: user.email, userId, template: 'provider-unlinked', values, client })
      await events.recordInside(sql, { kind: 'provider_unlinked', userId, sessionId, provider }, client)
      return undefined
    })
  }
}
