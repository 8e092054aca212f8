import { useEffect, useRef } from 'preact/hooks'
import type { ProviderButton } from '#contract/pages.js'
import type { ProviderId } from '#contract/providers.js'
import { storeReturnTo, withReturnTo } from '../browser/navigation.js'
import { moveFocusTo } from '../hooks/focus.js'
import { useSettings, useWords } from '../hooks/settings.js'
import { fill } from '../words/format.js'

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

const initialOf = (name: string) => Array.from(name)[0]?.toLocaleUpperCase() ?? ''

/** The first letter of the provider, or two letters if another provider begins with the same one, as with Google and GitHub. */
const useInitials = (name: string) => {
  const sameInitial = useSettings().providers.filter((each) => initialOf(each.name) === initialOf(name))
  return sameInitial.length > 1 ? initialOf(name) + (Array.from(name)[1] ?? '') : initialOf(name)
}

/** The logo that the operator has chosen, or the first letter. docs/decisions.md says why no logo comes with the pages. */
export const ProviderLogo = ({ provider: { name, logo } }: { provider: ProviderButton }) => {
  const initials = useInitials(name)
  return logo === undefined ? (
    <span class="provider-initial" aria-hidden="true">
      {initials}
    </span>
  ) : (
    <img class="provider-logo" src={logo} alt="" width="20" height="20" />
  )
}
