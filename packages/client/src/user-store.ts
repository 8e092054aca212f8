import { isTemporary } from './answers.js'
import type { Client } from './client.js'
import type { User } from './presence.js'

/** Null: signed out. Undefined: not known yet. */
export type KnownUser = User | null | undefined

/** How long to wait before the next question, in seconds, if the service does not say it. */
const usualPause = 5

/**
 * The signed-in user, for components. `fromServer` is the user for whom the server has rendered the page. The service is asked once,
 * and again while it is away; after that the client tells what changes.
 */
export const createUserStore = (client: Pick<Client, 'me' | 'onChange'>, fromServer: KnownUser) => {
  const listeners = new Set<() => void>()
  let user = fromServer
  let stopListening = () => {}
  let changes = 0
  let retry: ReturnType<typeof setTimeout> | undefined

  const setUser = (found: User | null) => {
    const next = found && { id: found.id, username: found.username }
    if (JSON.stringify(next) === JSON.stringify(user)) return
    user = next
    for (const listener of listeners) listener()
  }

  const ask = async () => {
    const changesBefore = changes
    const answer = await client.me()
    // A change that the client reported meanwhile is newer than this answer.
    if (changes !== changesBefore) return
    if (!answer.refused) setUser(answer.value.user)
    else if (answer.refused === 'not_authenticated') setUser(null)
    else if (isTemporary(answer) && listeners.size > 0)
      retry = setTimeout(() => void ask(), (answer.retryAfter ?? usualPause) * 1000)
  }

  const begin = () => {
    stopListening = client.onChange((change) => {
      changes += 1
      setUser(change.user)
    })
    void ask()
  }
  const end = () => {
    stopListening()
    clearTimeout(retry)
  }

  return {
    subscribe: (listener: () => void) => {
      listeners.add(listener)
      if (listeners.size === 1) begin()
      return () => {
        listeners.delete(listener)
        if (listeners.size === 0) end()
      }
    },
    read: () => user,
    readOnServer: () => fromServer,
  }
}

export type UserStore = ReturnType<typeof createUserStore>
