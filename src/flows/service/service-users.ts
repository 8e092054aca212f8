import { refuse } from '../../contract/outcome.js'
import type { ServiceUser } from '../../contract/schemas.js'
import type { Events } from '../../domain/events/events.js'
import type { Client } from '../../domain/sessions/client.js'
import type { Sessions } from '../../domain/sessions/sessions.js'
import type { User, Users } from '../../domain/users/users.js'
import { isUuid } from '../../lib/uuid.js'

const asSeenByServices = (user: User | undefined): ServiceUser | undefined => {
  if (!user) return undefined
  const { id, email, username, name, provider, providers, disabled, createdAt } = user
  return { id, email, username, name, provider, providers, disabled, createdAt: createdAt.toISOString() }
}

type Dependencies = { users: Users; sessions: Sessions; events: Events }

/** What other programs may know of users, and do to them. */
export const createServiceUsers = ({ users, sessions, events }: Dependencies) => {
  const findUser = async (id: string) => (isUuid(id) ? users.findById(id) : undefined)
  return {
    byId: async (id: string) => asSeenByServices(await findUser(id)) ?? refuse('not_found'),
    byEmail: async (email: string) => asSeenByServices(await users.findByEmail(email)) ?? refuse('not_found'),
    signOut: async (id: string, client: Client) => {
      const user = await findUser(id)
      if (!user) return refuse('not_found')
      await sessions.endAll(user.id)
      await events.record({ kind: 'sessions_ended', userId: user.id }, client)
      return undefined
    },
  }
}
