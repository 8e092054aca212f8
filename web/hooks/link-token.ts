import { useEffect, useState } from 'preact/hooks'
import { takeToken } from '../browser/navigation.js'

/** The token of the mailed link. A link opened in a tab that already shows its page changes only the fragment. */
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
