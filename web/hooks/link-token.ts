import { useEffect, useState } from 'preact/hooks'
import { takeToken } from '../browser/navigation.js'

/** The token of the mailed link. If the tab already shows the page of the link, opening the link changes only the fragment. */
export const useLinkToken = (name?: string) => {
  const [token, setToken] = useState(() => takeToken(name))
  useEffect(() => {
    const onHashChange = () => setToken((known) => takeToken(name) ?? known)
    // The fragment may have changed between the first render and this effect.
    onHashChange()
    addEventListener('hashchange', onHashChange)
    return () => removeEventListener('hashchange', onHashChange)
  }, [name])
  return token
}
