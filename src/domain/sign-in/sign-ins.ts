import type { ProviderId } from '../../contract/providers.js'
import type { Event, Events } from '../events/events.js'
import type { Client } from '../sessions/client.js'
import type { Issued, Sessions, SignedInUser } from '../sessions/sessions.js'
import type { Method } from '../tokens/tokens.js'

export type SignIns = ReturnType<typeof createSignIns>

/**
 * Every way to sign in ends here, and nothing else may begin a session (`scripts/architecture` enforces it). The event's `sessionBegan` is the one sign of it, whatever
 * kind of event a user reads.
 */
export const createSignIns = ({ sessions, events }: { sessions: Sessions; events: Pick<Events, 'record'> }) => {
  const began = async (
    issued: Issued,
    client: Client,
    event: Pick<Event, 'kind' | 'provider' | 'reason' | 'sessionBegan'>,
  ) => {
    await events.record({ ...event, userId: issued.user.id, sessionId: issued.sessionId }, client)
    return issued
  }

  const start = async (user: SignedInUser, methods: readonly Method[], client: Client) => {
    const issued = await sessions.beginSession(user, { methods }, client)
    if (!issued) throw new Error('The user was disabled or deleted while signing in')
    return issued
  }

  return {
    /** Undefined if the password has changed since it was checked, or the user was disabled in the meantime. */
    byPassword: async (user: SignedInUser, passwordHash: string, client: Client) => {
      const issued = await sessions.beginSession(user, { methods: ['pwd'], passwordHash }, client)
      return issued && began(issued, client, { kind: 'signed_in', reason: 'password', sessionBegan: 'password' })
    },

    /** The user has just proven the email address of the new account, and chosen or entered its password. */
    byRegistration: async (user: SignedInUser, client: Client) => {
      const issued = await start(user, ['pwd'], client)
      return began(issued, client, { kind: 'registered', sessionBegan: 'registration' })
    },

    /** `first` is what the sign-in did to the account before. */
    byProvider: async (
      user: SignedInUser,
      { provider, first }: { provider: ProviderId; first: 'registered' | 'provider_linked' | undefined },
      client: Client,
    ) => {
      const issued = await start(user, ['provider'], client)
      const { sessionId } = issued
      if (first) await events.record({ kind: first, userId: user.id, sessionId, provider }, client)
      return began(issued, client, { kind: 'signed_in', provider, sessionBegan: provider })
    },
  }
}
