import { useState } from 'preact/hooks'
import type { AccountPage } from '../../packages/client/src/client.js'
import type { ProviderButton } from '../../src/contract/pages.js'
import type { ProviderId } from '../../src/contract/providers.js'
import type { Account } from '../../src/contract/schemas.js'
import { client } from '../client.js'
import { Button } from '../components/button.js'
import { ProviderLogo } from '../components/provider-logo.js'
import { useSettings, useWords } from '../settings.js'
import { fill } from '../words/format.js'
import { useDashboardActions } from './dashboard-actions.js'
import { Panel } from './panel.js'

export const ProvidersPanel = ({ account }: { account: Account }) => {
  const words = useWords('dashboard')
  const { providers } = useSettings()
  const actions = useDashboardActions()
  const [busy, setBusy] = useState<ProviderId>()

  const link = async (provider: ProviderButton) => {
    setBusy(provider.id)
    const answer = await actions.withFreshSignIn(() =>
      client.linkProvider(provider.id, { returnTo: location.pathname as AccountPage }),
    )
    // The button stays busy until the browser has left for the provider.
    if (!answer.refused) return location.assign(answer.value.location)
    setBusy(undefined)
    actions.showRefusal(answer, { provider: provider.name })
  }

  const unlink = async (provider: ProviderButton) => {
    setBusy(provider.id)
    const answer = await actions.withFreshSignIn(() => client.unlinkProvider(provider.id))
    await actions.reload()
    setBusy(undefined)
    if (answer.refused) actions.showRefusal(answer, { provider: provider.name })
    else actions.showSuccess(fill(words.unlinked, { provider: provider.name }))
  }

  return (
    <Panel title={words.providers}>
      <ul class="row-list">
        {providers.map((provider) => {
          const linked = account.providers.includes(provider.id)
          const label = fill(linked ? words.unlinkFrom : words.linkTo, { provider: provider.name })
          return (
            <li key={provider.id}>
              <span class="row-icon">
                <ProviderLogo name={provider.name} />
              </span>
              <div class="row-body">
                <div class="row-text">
                  <strong>{provider.name}</strong>
                  <span>{linked ? words.linked : words.notLinked}</span>
                </div>
                <Button label={label} busy={busy === provider.id} onPress={() => (linked ? unlink : link)(provider)}>
                  {linked ? words.unlink : words.link}
                </Button>
              </div>
            </li>
          )
        })}
      </ul>
    </Panel>
  )
}
