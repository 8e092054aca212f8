import { useEffect, useState } from 'preact/hooks'
import type { AccountPage } from '#client/client.js'
import type { LinkedAccount } from '#contract/account-export.js'
import { linkingParameter, type ProviderButton, type PublicReason, providerOfFailure } from '#contract/pages.js'
import type { Account } from '#contract/schemas.js'
import { client } from '../browser/client.js'
import { queryValue } from '../browser/navigation.js'
import { Button, staysBusy } from '../components/button.js'
import { ProviderLogo } from '../components/providers.js'
import { useSettings, useWords } from '../hooks/settings.js'
import { useStableCallback } from '../hooks/stable.js'
import { fill } from '../words/format.js'
import { AskFirst, type DashboardActions, useDashboardActions } from './panels.js'
import { AccountPanel } from './sections.js'

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

/**
 * If a provider could not be linked, the service redirects to this page, with the error in the address. The error is removed from the
 * address, so a reload does not show it again.
 */
export const useLinkMessageInAddress = (): { kind: 'error' | 'info'; text: string } | undefined => {
  const { providers } = useSettings()
  const { providerErrors } = useWords('common')
  const { linkErrors } = useWords('dashboard')
  const [message] = useState(() => {
    const error = queryValue('error')
    if (error === undefined) return undefined
    const reason = queryValue('reason')
    history.replaceState(null, '', location.pathname)
    const provider = providerOfFailure(error, providers)
    if (!provider) return { kind: 'error', text: providerErrors.callback } as const
    // The user has cancelled on purpose, which is no error.
    if (reason === ('cancelled' satisfies PublicReason))
      return { kind: 'info', text: fill(linkErrors.cancelled, { provider: provider.name }) } as const
    const sentence = reason === ('no_email' satisfies PublicReason) ? linkErrors.noEmail : linkErrors.failed
    return { kind: 'error', text: fill(sentence, { provider: provider.name }) } as const
  })
  return message
}

/**
 * Links the provider when the browser is back from it. The redirect carried no session cookie, because it
 * came from another site; this request does.
 */
export const useFinishLink = (isLoaded: boolean, actions: DashboardActions) => {
  const { providers } = useSettings()
  const words = useWords('dashboard')
  const finish = useStableCallback(async () => {
    const provider = providers.find(({ id }) => id === queryValue(linkingParameter))
    if (!provider) return
    history.replaceState(null, '', location.pathname)
    const answer = await client.finishLink(provider.id)
    if (answer.refused) return actions.showRefusal(answer, { provider: provider.name })
    await actions.reload()
    actions.showSuccess(fill(words.linkedNow, { provider: provider.name }))
  })
  useEffect(() => {
    if (isLoaded) void finish()
  }, [isLoaded])
}
