'use client'

import {
  createContext,
  createElement,
  type ReactNode,
  useContext,
  useEffect,
  useMemo,
  useRef,
  useSyncExternalStore,
} from 'react'
import { type Client, createClient } from './client.js'
import { reload, watchOwner } from './page-owner.js'
import type { User } from './presence.js'
import { createUserStore, type UserStore } from './user-store.js'

export type { User } from './presence.js'

type Known = { readonly client: Client; readonly users: UserStore }
const Latchkey = createContext<Known | undefined>(undefined)

/** There is one client for each service, however often a page is rendered. */
const clients = new Map<string, Client>()
const clientFor = (baseUrl: string) => {
  const client = clients.get(baseUrl) ?? createClient(baseUrl === '' ? {} : { baseUrl })
  clients.set(baseUrl, client)
  return client
}

export type LatchkeyProviderProps = {
  /** The address of the service, if the page is on another host of its domain, or on another port. */
  readonly baseUrl?: string | undefined
  /** The client that the page already has, instead of `baseUrl`. */
  readonly client?: Client | undefined
  /** The user whom the server has seen, or null for a visitor. Without it, nothing is known until the service has answered. */
  readonly user?: User | null | undefined
  /**
   * Called when the user of this page is no longer signed in, or another one is, also in another tab. Without this function, a page
   * with `user` is loaded again, so that nothing is left of what the server made for the former user.
   */
  readonly onUserChange?: (() => void) | undefined
  readonly children?: ReactNode
}

/** Put it around all components that use the hooks and components of this file. */
export const LatchkeyProvider = ({
  baseUrl = '',
  client,
  user,
  onUserChange,
  children,
}: LatchkeyProviderProps): ReactNode => {
  const usedClient = client ?? clientFor(baseUrl)
  const { id, username } = user ?? {}
  const isUserGiven = user !== undefined
  const known = useMemo(() => {
    const serverUser = id === undefined || username === undefined ? null : { id, username }
    return { client: usedClient, users: createUserStore(usedClient, isUserGiven ? serverUser : undefined) }
  }, [usedClient, id, username, isUserGiven])
  const owner = useRef<string | undefined>(undefined)
  const leave = useRef(reload)
  leave.current = onUserChange ?? reload
  const isWatched = isUserGiven || onUserChange !== undefined
  useEffect(() => (isWatched ? watchOwner(known, owner, () => leave.current()) : undefined), [known, isWatched])
  return createElement(Latchkey.Provider, { value: known }, children)
}

const useLatchkey = (): Known => {
  const known = useContext(Latchkey)
  if (!known) throw new Error('@latchkey/client/react: there is no <LatchkeyProvider> around this component')
  return known
}

/** The client of the provider, for `logout`, `fetch`, `signInUrl` and every other call. */
export const useClient = (): Client => useLatchkey().client

/** The signed-in user, also after a change in another tab. Null without a session, undefined while that is not known yet. */
export const useUser = (): User | null | undefined => {
  const { users } = useLatchkey()
  return useSyncExternalStore(users.subscribe, users.read, users.readOnServer)
}

/** Shows its children to a user. */
export const SignedIn = ({ children }: { readonly children?: ReactNode }): ReactNode => (useUser() ? children : null)

/** Shows its children to a visitor. Neither of the two shows anything while the user is not known yet. */
export const SignedOut = ({ children }: { readonly children?: ReactNode }): ReactNode =>
  useUser() === null ? children : null
