import { useEffect, useRef } from 'preact/hooks'
import { siGithub, siGoogle } from 'simple-icons'
import type { ProviderButton } from '#contract/pages.js'
import type { ProviderId } from '#contract/providers.js'
import { storeReturnTo, withReturnTo } from '../browser/navigation.js'
import { moveFocusTo } from '../hooks/focus.js'
import { useSettings, useWords } from '../hooks/settings.js'
import { fill } from '../words/format.js'
import { DoorIcon, Mark } from './icons.js'

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

/** Marks in one colour, by the names of providers. */
const marks = new Map([siGithub, siGoogle].map(({ title, path }) => [title, path]))

/** The logo that the operator has chosen, the mark of a known provider, or a person at a door for the others. */
export const ProviderLogo = ({ provider: { name, logo } }: { provider: ProviderButton }) => {
  const mark = marks.get(name)
  if (logo !== undefined) return <img class="provider-logo" src={logo} alt="" width="20" height="20" />
  return mark === undefined ? <DoorIcon /> : <Mark path={mark} />
}
