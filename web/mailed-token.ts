import { useEffect, useState } from 'preact/hooks'
import { takeToken } from './navigation.js'

/** The token of the mailed link. A link opened in a tab that already shows its page changes only the fragment. */
export const useMailedToken = () => {
  const [token, setToken] = useState(takeToken)
  useEffect(() => {
    const onHash = () => setToken((known) => takeToken() ?? known)
    // It may have changed between the first look and this one.
    onHash()
    addEventListener('hashchange', onHash)
    return () => removeEventListener('hashchange', onHash)
  }, [])
  return token
}
