import { withWantedPlace } from '../places.js'
import { type Provider, useSettings } from '../settings.js'
import { fill } from '../words/fill.js'
import { ProviderLogo } from './provider-logo.js'

type Props = { label: string; place: string | undefined }

/** Plain links: signing in with a provider is a journey of the whole page. */
export const ProviderButtons = ({ label, place }: Props) => (
  <ul class="providers">
    {useSettings().providers.map((provider: Provider) => (
      <li key={provider.id}>
        <a class="button plain" href={withWantedPlace(provider.path, place)}>
          <ProviderLogo name={provider.name} />
          <span>{fill(label, { provider: provider.name })}</span>
        </a>
      </li>
    ))}
  </ul>
)
