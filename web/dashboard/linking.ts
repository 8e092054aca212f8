import { useEffect, useState } from 'preact/hooks'
import { linkingParameter, type PublicReason, providerOfFailure } from '#contract/pages.js'
import { client } from '../browser/client.js'
import { queryValue } from '../browser/navigation.js'
import { useSettings, useWords } from '../hooks/settings.js'
import { useStableCallback } from '../hooks/stable.js'
import { fill } from '../words/format.js'
import type { DashboardActions } from './dashboard-actions.js'

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
