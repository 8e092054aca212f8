import type { AccountPage } from '#client/client.js'
import type { LinkedAccount } from '#contract/linked-accounts.js'
import type { ProviderButton } from '#contract/pages.js'
import type { Account } from '#contract/schemas.js'
import { client } from '../browser/client.js'
import { Button, staysBusy } from '../components/button.js'
import { ProviderLogo } from '../components/providers.js'
import { useSettings, useWords } from '../hooks/settings.js'
import { fill } from '../words/format.js'
import { AskFirst } from './ask-first.js'
import { useDashboardActions } from './dashboard-actions.js'
import { AccountPanel } from './section.js'

export const ProvidersPanel = ({
  account,
  linkedAccounts,
}: {
  account: Account
  linkedAccounts: readonly LinkedAccount[]
}) => {
  const words = useWords('dashboard')
  const { providers } = useSettings()
  const actions = useDashboardActions()

  const link = async (provider: ProviderButton) => {
    const answer = await actions.withFreshSignIn(() =>
      client.linkProvider(provider.id, { returnTo: location.pathname as AccountPage }),
    )
    if (answer.refused) return actions.showRefusal(answer, { provider: provider.name })
    location.assign(answer.value.location)
    return staysBusy
  }

  const unlink = async (provider: ProviderButton) => {
    const answer = await actions.withFreshSignIn(() => client.unlinkProvider(provider.id))
    await actions.reload()
    if (answer.refused) actions.showRefusal(answer, { provider: provider.name })
    else actions.showSuccess(fill(words.unlinked, { provider: provider.name }))
  }

  return (
    <AccountPanel place="providers" title={words.providers} step={account.providers.join(' ')}>
      <ul class="row-list">
        {providers.map((provider) => (
          <ProviderRow
            key={provider.id}
            provider={provider}
            isLinked={account.providers.includes(provider.id)}
            email={linkedAccounts.find((each) => each.provider === provider.id)?.email ?? undefined}
            onLink={() => link(provider)}
            onUnlink={() => unlink(provider)}
          />
        ))}
      </ul>
    </AccountPanel>
  )
}

type RowProps = {
  provider: ProviderButton
  isLinked: boolean
  /** The email of the user's account at the provider, once it is known. */
  email: string | undefined
  onLink: () => Promise<unknown>
  onUnlink: () => Promise<void>
}

const ProviderRow = ({ provider, isLinked, email, onLink, onUnlink }: RowProps) => {
  const words = useWords('dashboard')
  const { name } = provider
  return (
    <li>
      <span class="row-icon">
        <ProviderLogo provider={provider} />
      </span>
      <div class="row-body">
        <div class="row-text">
          <strong>{name}</strong>
          <span>
            {isLinked ? words.linked : words.notLinked}
            {isLinked && email !== undefined && ` · ${email}`}
          </span>
        </div>
        {isLinked ? (
          <AskFirst
            label={words.unlink}
            name={fill(words.unlinkFrom, { provider: name })}
            question={fill(words.unlinkAsk, { provider: name })}
            confirmLabel={words.unlinkSure}
            onConfirm={onUnlink}
          />
        ) : (
          <Button label={fill(words.linkTo, { provider: name })} onPress={onLink}>
            {words.link}
          </Button>
        )}
      </div>
    </li>
  )
}
