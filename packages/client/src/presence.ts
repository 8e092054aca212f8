/** A user, as far as every tab knows it. */
export type User = { readonly id: string; readonly username: string }

/** What is different from what this tab knew before. */
export type Change =
  | { readonly change: 'signed_in' | 'other_user'; readonly user: User }
  | { readonly change: 'signed_out'; readonly user: null }

export type Listener = (change: Change) => void

/** How often a tab asks when it becomes visible again. */
const shortestPause = 5_000

/** Who is signed in in this browser, as this tab and the other tabs of this site find out. */
export const createPresence = (ask: () => unknown) => {
  const listeners = new Set<Listener>()
  let known: User | null | undefined
  let lastAsked = 0

  // Servers have no tabs, and there an open channel would keep the process running.
  const channel =
    'document' in globalThis && 'BroadcastChannel' in globalThis ? new BroadcastChannel('latchkey') : undefined

  const announce = (user: User | null) => {
    const change: Change = user ? { change: known ? 'other_user' : 'signed_in', user } : { change: 'signed_out', user }
    known = user
    for (const listener of listeners) listener(change)
  }

  /** What an answer of the service says. The first answer is no change; an act, such as signing in, is always told. */
  const learn = (user: User | null, isAct = false) => {
    lastAsked = Date.now()
    if (known?.id === user?.id && known !== undefined) return
    const person = user && { id: user.id, username: user.username }
    if (known === undefined && !isAct) {
      known = person
      return
    }
    announce(person)
    channel?.postMessage(person)
  }

  /** Returns a function that stops listening. */
  const onChange = (listener: Listener) => {
    listeners.add(listener)
    return () => {
      listeners.delete(listener)
    }
  }

  channel?.addEventListener('message', ({ data }: MessageEvent<User | null>) => {
    if (known === undefined || known?.id !== data?.id) announce(data)
  })
  // A sign-in on another host of the domain, or a session that was ended elsewhere, sends no message.
  globalThis.document?.addEventListener('visibilitychange', () => {
    if (!document.hidden && listeners.size > 0 && Date.now() - lastAsked > shortestPause) ask()
  })

  return { learn, onChange }
}

export type Presence = ReturnType<typeof createPresence>
