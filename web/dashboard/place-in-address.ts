import { useEffect } from 'preact/hooks'
import { moveFocusTo } from '../hooks/focus.js'
import { placeIds } from './places.js'

/** Scrolls to the place that a fragment names, and moves the focus to its heading, so that a screen reader reads on from there. */
export const goToPlace = (fragment: string) => {
  const place = placeIds(fragment)
    .map((id) => document.getElementById(id))
    .find((element) => element !== null)
  if (!place) return
  place.scrollIntoView()
  // A field of the place may have taken the focus already.
  if (!place.contains(document.activeElement)) moveFocusTo(place.querySelector<HTMLElement>('h2, h3'))
}

/** Goes to the place in the address once the account is loaded. The browser has looked for the place too early. */
export const usePlaceInAddress = (isLoaded: boolean) => {
  useEffect(() => {
    if (!isLoaded) return
    const go = () => goToPlace(location.hash)
    go()
    addEventListener('hashchange', go)
    return () => removeEventListener('hashchange', go)
  }, [isLoaded])
}
