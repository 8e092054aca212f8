/** The part of a user that all tabs share. */
export type User = { readonly id: string; readonly username: string }

/**
 * A change of what this tab knew before, and its cause: a call of this tab signed in or out or changed the
 * username, another tab told it, or an answer of the service shows it.
 */
export type Change = { readonly by: 'this_tab' | 'other_tab' | 'answer' } & (
  | { readonly change: 'signed_in' | 'other_user' | 'renamed'; readonly user: User }
  | { readonly change: 'signed_out'; readonly user: null }
)

export type Listener = (change: Change) => void

/** Any script of this site can send a message, so only a message of exactly our form is accepted. */
const isText = (value: unknown) => typeof value === 'string' && value !== '' && value.length <= 128
const isMessage = (data: unknown): data is User | null => {
  const { id, username, ...more } = Object(data)
  return data === null || (isText(id) && isText(username) && Object.keys(more).length === 0)
}

/** A tab that becomes visible again asks at most once in this time. */
const shortestPause = 5_000

/** Watches who is signed in in this browser, from the answers to this tab and to other tabs of this site. */
export const createPresence = (ask: () => unknown) => {
  const listeners = new Set<Listener>()
  let known: User | null | undefined
  let lastAsked = 0
  let changes = 0

  // Servers have no tabs, and there an open channel would keep the process running.
  const channel = globalThis.document && globalThis.BroadcastChannel ? new BroadcastChannel('latchkey') : undefined

  const learn = (user: User | null, by: Change['by']) => {
    const before = known
    if (JSON.stringify(before) === JSON.stringify(user)) return
    known = user
    changes++
    if (by !== 'other_tab') channel?.postMessage(user)
    // The first answer changes nothing in this tab. Other tabs may have known another user, so they are told.
    if (before === undefined && by === 'answer') return
    const change = !user ? 'signed_out' : !before ? 'signed_in' : before.id === user.id ? 'renamed' : 'other_user'
    // Listeners run later, because a failing listener must not make the call fail.
    for (const listener of listeners) queueMicrotask(() => listener({ change, user, by } as Change))
  }

  /**
   * Call it before a question to the service. The returned function takes the answer, and ignores it if a change is newer than the
   * question.
   */
  const asking = () => {
    const changesBefore = changes
    return (found: User | null, by: Change['by'] = 'answer') => {
      lastAsked = Date.now()
      if (changes === changesBefore) learn(found && { id: found.id, username: found.username }, by)
    }
  }

  /** Returns a function that stops listening. */
  const onChange = (listener: Listener) => {
    listeners.add(listener)
    return () => {
      listeners.delete(listener)
    }
  }

  channel?.addEventListener('message', ({ data }: MessageEvent<unknown>) => {
    if (isMessage(data)) learn(data, 'other_tab')
  })
  // A sign-in on another host of the domain, or a session that was ended elsewhere, sends no message.
  globalThis.document?.addEventListener('visibilitychange', () => {
    if (!document.hidden && listeners.size > 0 && Date.now() - lastAsked > shortestPause) ask()
  })

  return { asking, onChange }
}

export type Presence = ReturnType<typeof createPresence>
