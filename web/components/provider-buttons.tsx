import { useEffect, useRef } from 'preact/hooks'
import type { ProviderId } from '#contract/providers.js'
import { moveFocusTo } from '../browser/focus.js'
import { storeReturnTo, withReturnTo } from '../browser/navigation.js'
import { useSettings, useWords } from '../hooks/settings.js'
import { fill } from '../words/format.js'
import { ProviderLogo } from './provider-logo.js'

type Props = {
  returnTo: string | undefined
  /** The provider asks the user again who they are, for a session that is fresh. */
  asksAgain?: boolean
  /** There is no other way to sign in above the buttons. */
  isOnlyWay?: boolean
  /** The provider whose button has the focus at first. */
  focused?: ProviderId | undefined
}

/** Links to the providers: signing in with a provider leaves this page. */
export const ProviderButtons = ({ returnTo, asksAgain = false, isOnlyWay = false, focused }: Props) => {
  const { providers } = useSettings()
  const words = useWords('common')
  const focusedLink = useRef<HTMLAnchorElement>(null)
  useEffect(() => moveFocusTo(focusedLink.current), [])
  if (providers.length === 0) return null
  return (
    <>
      {!isOnlyWay && <p class="divider">{words.or}</p>}
      <ul class="provider-buttons">
        {providers.map((provider) => (
          <li key={provider.id}>
            <a
              ref={provider.id === focused ? focusedLink : null}
              class="button"
              href={withReturnTo(asksAgain ? `${provider.path}?fresh=true` : provider.path, returnTo)}
              onClick={() => storeReturnTo(returnTo)}
            >
              <ProviderLogo provider={provider} />
              <span>{fill(words.continueWith, { provider: provider.name })}</span>
            </a>
          </li>
        ))}
      </ul>
    </>
  )
}
