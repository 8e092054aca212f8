import { rememberPlace, withWantedPlace } from '../navigation.js'
import { type Provider, useSettings } from '../settings.js'
import { fill } from '../words/format.js'
import { ProviderLogo } from './provider-logo.js'

/** The other way to sign in or register. Plain links: signing in with a provider is a journey of the whole page. */
export const ProviderButtons = ({ place }: { place: string | undefined }) => {
  const { providers, words } = useSettings()
  if (providers.length === 0) return null
  return (
    <>
      <p class="divider">{words.common.or}</p>
      <ul class="provider-buttons">
        {providers.map((provider: Provider) => (
          <li key={provider.id}>
            <a class="button" href={withWantedPlace(provider.path, place)} onClick={() => rememberPlace(place)}>
              <ProviderLogo name={provider.name} />
              <span>{fill(words.common.continueWith, { provider: provider.name })}</span>
            </a>
          </li>
        ))}
      </ul>
    </>
  )
}
