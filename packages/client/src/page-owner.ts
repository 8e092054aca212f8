import type { Client } from './client.js'
import type { UserStore } from './user-store.js'

const reloadKey = 'latchkey.reloaded'
const shortestPause = 5_000

/**
 * Loads the page again, so that nothing of the former user is left, also not in pages that the router of a framework has kept. It does
 * so at most once in five seconds, because a server that still sees the former user would cause a loop.
 */
export const reload = () => {
  try {
    if (Date.now() - Number(sessionStorage.getItem(reloadKey)) < shortestPause) return
    sessionStorage.setItem(reloadKey, String(Date.now()))
  } catch {
    // A browser that refuses storage has no cookies either, and so no user.
    return
  }
  location.reload()
}

type Watched = { readonly client: Pick<Client, 'me'>; readonly users: UserStore }

/**
 * Calls `leave` when the user of the page is no longer the one that is signed in. `owner` keeps the id of the page's user from one
 * watch to the next. Returns a function that stops watching.
 */
export const watchOwner = ({ client, users }: Watched, owner: { current: string | undefined }, leave: () => void) => {
  const checkUser = () => {
    const user = users.read()
    if (user === undefined) return
    const former = owner.current
    owner.current = user?.id
    if (former !== undefined && former !== user?.id) leave()
  }
  checkUser()
  // The page was made for a visitor without a session, so the service need not be asked.
  if (users.readOnServer() === null) return undefined
  // A browser shows a page as it was when the user goes back to it.
  const askAfterReturn = ({ persisted }: { persisted: boolean }) => void (persisted && client.me())
  addEventListener('pageshow', askAfterReturn)
  const stop = users.subscribe(checkUser)
  return () => {
    stop()
    removeEventListener('pageshow', askAfterReturn)
  }
}
