import { useEffect, useState } from 'preact/hooks'
import { queryString } from './query-string.js'

export const screenNames = ['overview', 'users', 'invitations', 'groups', 'applications', 'events'] as const
export type ScreenName = (typeof screenNames)[number]

/** Which screen the fragment of the address names: `#users/ID`, `#events?kind=signed_in`. */
export type Place = { screen: ScreenName; id: string | undefined; query: Record<string, string> }

export const placeOf = (fragment: string): Place => {
  const [, path = '', query = ''] = /^#?([^?]*)\??(.*)$/s.exec(fragment) ?? []
  const [name, id] = path.split('/')
  const screen = screenNames.find((each) => each === name) ?? 'overview'
  return { screen, id: id ? decoded(id) : undefined, query: Object.fromEntries(new URLSearchParams(query)) }
}

const decoded = (text: string) => {
  try {
    return decodeURIComponent(text)
  } catch {
    return text
  }
}

export const fragmentOf = (screen: ScreenName, id?: string, query: Record<string, string | undefined> = {}) =>
  `#${screen}${id === undefined ? '' : `/${encodeURIComponent(id)}`}${queryString(query)}`

/** Follows the address, also by the back button. Each visit has a number: a link to the screen that is shown begins it anew. */
export const usePlace = () => {
  const [{ fragment, visit }, setShown] = useState({ fragment: location.hash, visit: 0 })
  useEffect(() => {
    const onChange = () => setShown((shown) => ({ fragment: location.hash, visit: shown.visit + 1 }))
    addEventListener('hashchange', onChange)
    return () => removeEventListener('hashchange', onChange)
  }, [])
  return { place: placeOf(fragment), visit }
}

/**
 * What was typed into a filter. A reload keeps it, and "back" leaves the screen at once. Not if the user is already on the way to
 * another place.
 */
export const replaceQuery = (screen: ScreenName, query: Record<string, string | undefined>) => {
  const now = placeOf(location.hash)
  if (now.screen === screen && now.id === undefined)
    history.replaceState(history.state, '', fragmentOf(screen, undefined, query))
}
