import { useEffect, useState } from 'preact/hooks'

export const screenNames = [
  'overview',
  'users',
  'invitations',
  'groups',
  'applications',
  'resources',
  'settings',
  'events',
] as const
export type ScreenName = (typeof screenNames)[number]

/** The screen that the fragment of the URL names: `#users/ID`, `#events?kind=signed_in`. */
export type Place = { screen: ScreenName; id: string | undefined; query: Record<string, string> }

export const placeOf = (fragment: string): Place => {
  const [, path = '', query = ''] = /^#?([^?]*)\??(.*)$/s.exec(fragment) ?? []
  const [name, id] = path.split('/')
  const screen = screenNames.find((each) => each === name) ?? 'overview'
  return { screen, id: id ? safelyDecoded(id) : undefined, query: Object.fromEntries(new URLSearchParams(query)) }
}

const safelyDecoded = (text: string) => {
  try {
    return decodeURIComponent(text)
  } catch {
    return text
  }
}

export const fragmentOf = (screen: ScreenName, id?: string, query: Record<string, string | undefined> = {}) =>
  `#${screen}${id === undefined ? '' : `/${encodeURIComponent(id)}`}${queryString(query)}`

/** How a screen was left: the fragment of the next screen, the number of rows, and how far the page was scrolled. */
export type Departure = { to: string; rows: number; scrolledTo: number }

/** The departures, by the fragment of the screen that was left. The newest comes last. */
const departures = new Map<string, Departure>()

const recordDeparture = (from: string, to: string) => {
  departures.delete(from)
  const rows = document.querySelectorAll('tbody tr').length
  departures.set(from, { to, rows, scrolledTo: scrollY })
}

type ShownPlace = { fragment: string; visitCount: number; screenCount: number; earlierDeparture?: Departure }

/** Whether the list of users stays as it is: a user is shown beside it, or no longer. */
const keepsList = (from: string, to: string) =>
  placeOf(from).screen === 'users' &&
  placeOf(to).screen === 'users' &&
  (placeOf(to).id !== undefined || (placeOf(from).id !== undefined && to === listFragment('users')))

/**
 * Follows the address, also after the back button. Each visit is counted, so that a link to the shown screen loads it again; the list of
 * users goes on beside one of them, so its screen is counted once.
 * `earlierDeparture`: how the screen was left, if the user now comes back from the next one.
 */
export const usePlace = () => {
  const [{ fragment, visitCount, screenCount, earlierDeparture }, setShown] = useState<ShownPlace>({
    fragment: location.hash,
    visitCount: 0,
    screenCount: 0,
  })
  useEffect(() => {
    const onChange = ({ oldURL, newURL }: HashChangeEvent) => {
      const from = new URL(oldURL).hash
      const to = new URL(newURL).hash
      const isListKept = keepsList(from, to)
      recordDeparture(from, to)
      const lastDeparture = departures.get(to)
      setShown((shown) => ({
        fragment: to,
        visitCount: shown.visitCount + 1,
        screenCount: shown.screenCount + (isListKept ? 0 : 1),
        ...(lastDeparture?.to === from && { earlierDeparture: lastDeparture }),
      }))
    }
    addEventListener('hashchange', onChange)
    return () => removeEventListener('hashchange', onChange)
  }, [])
  return { place: placeOf(fragment), visitCount, screenCount, earlierDeparture }
}

/** The fragment of the list of a screen, with the filter that the list had when it was left. */
export const listFragment = (screen: ScreenName) => {
  const lists = [...departures.keys()].map((fragment) => ({ fragment, place: placeOf(fragment) }))
  const last = lists.findLast(({ place }) => place.screen === screen && place.id === undefined)
  return last?.fragment ?? fragmentOf(screen)
}

/**
 * Writes the filter into the URL without a new history entry, so a reload keeps it, and "back" leaves the screen at once. If the user
 * is already on the way to another screen, nothing is written.
 */
export const replaceQuery = (screen: ScreenName, query: Record<string, string | undefined>) => {
  const current = placeOf(location.hash)
  if (current.screen === screen && current.id === undefined)
    history.replaceState(history.state, '', fragmentOf(screen, undefined, query))
}

type Query = Readonly<Record<string, string | undefined>>

const entriesOf = (query: Query) =>
  Object.entries(query).filter((entry): entry is [string, string] => Boolean(entry[1]))

/** The query without parameters that have no value, as a body. */
export const withoutEmpty = (query: Query) => Object.fromEntries(entriesOf(query))

/** The query with its question mark, or an empty text. A parameter without a value is left out. */
const queryString = (query: Query) => {
  const entries = entriesOf(query)
  return entries.length === 0 ? '' : `?${new URLSearchParams(entries)}`
}
