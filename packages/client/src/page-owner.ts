import type { Client } from './client.js'
import type { UserStore } from './user-store.js'

const reloadKey = 'latchkey.reloaded'
const ownerKey = 'latchkey.owner'
const shortestPause = 5_000

/** Undefined in a browser that refuses the storage of the tab. Such a browser has no cookies either, and so no user. */
const inTab = <Value>(use: (storage: Storage) => Value) => {
  try {
    return use(sessionStorage)
  } catch {
    return undefined
  }
}

/**
 * Loads the page again, so that nothing of the former user is left, also not in pages that the router of a framework has kept. It does
 * so at most once in five seconds, because a server that still sees the former user would cause a loop.
 */
export const reload = () =>
  inTab((storage) => {
    if (Date.now() - Number(storage.getItem(reloadKey)) < shortestPause) return
    storage.setItem(reloadKey, String(Date.now()))
    location.reload()
  })

const forgetOwner = () => inTab((storage) => storage.removeItem(ownerKey))

/**
 * When the server of the application ends a session, no tab hears of it. So a page for a visitor asks the service if the page before it had
 * a user, and the client tells the other tabs the answer. The owner is remembered until then, because the page may be loaded again meanwhile.
 */
const tellOtherTabs = async (client: Pick<Client, 'me'>) => {
  if (inTab((storage) => storage.getItem(ownerKey)) && (await client.me()).refused === 'not_authenticated')
    forgetOwner()
}

type Watched = { readonly client: Pick<Client, 'me'>; readonly users: UserStore }

/**
 * Calls `leave` when the user of the page is no longer the one that is signed in. `owner` keeps the id of the page's user from one
 * watch to the next. Returns a function that stops watching.
 */
export const watchOwner = ({ client, users }: Watched, owner: { current: string | undefined }, leave: () => void) => {
  const isForVisitor = users.readOnServer() === null
  const checkUser = () => {
    const user = users.read()
    if (user === undefined) return
    if (user) inTab((storage) => storage.setItem(ownerKey, user.id))
    else if (!isForVisitor) forgetOwner()
    const former = owner.current
    owner.current = user?.id
    if (former !== undefined && former !== user?.id) leave()
  }
  checkUser()
  // Otherwise the service need not be asked.
  if (isForVisitor) return void tellOtherTabs(client)
  // A browser shows a page as it was when the user goes back to it.
  const askAfterReturn = ({ persisted }: { persisted: boolean }) => void (persisted && client.me())
  addEventListener('pageshow', askAfterReturn)
  const stop = users.subscribe(checkUser)
  return () => {
    stop()
    removeEventListener('pageshow', askAfterReturn)
  }
}
