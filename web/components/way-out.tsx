import { useEffect, useState } from 'preact/hooks'
import { client } from '../browser/client.js'
import { withReturnTo } from '../browser/navigation.js'
import { useWords } from '../hooks/settings.js'

/** The link below a page that has no next step. It leads to the sign-in, or to the account of a visitor who is signed in. */
export const WayOut = ({ returnTo }: { returnTo?: string | undefined }) => {
  const { backToLogin, toAccount } = useWords('common')
  const [isSignedIn, setSignedIn] = useState(false)
  useEffect(() => {
    void client.me().then(({ refused }) => setSignedIn(refused === undefined))
  }, [])
  return isSignedIn ? (
    <a href={returnTo ?? '/api/auth/account-page'}>{toAccount}</a>
  ) : (
    <a href={withReturnTo('/login', returnTo)}>{backToLogin}</a>
  )
}
