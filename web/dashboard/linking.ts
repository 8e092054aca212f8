import { useEffect, useState } from 'preact/hooks'
import { api } from '../api.js'
import { queryValue } from '../navigation.js'
import { isTemporary } from '../requests.js'
import { type Provider, useSettings, useWords } from '../settings.js'
import { useStableCallback } from '../stable-callback.js'
import { fill } from '../words/format.js'
import type { DashboardActions } from './dashboard-actions.js'

/** Why a provider was not connected, in the words of this page. */
const useLinkErrors = () => {
  const { linkErrors } = useWords('dashboard')
  const known: Record<string, string> = linkErrors
  return (reason: string | undefined, provider: Provider) => {
    const text = reason !== undefined && Object.hasOwn(known, reason) ? known[reason] : undefined
    return fill(text ?? linkErrors.failed, { provider: provider.name })
  }
}

/** The service redirects a failed connection to this page, with the error in the address. A reload does not repeat it. */
export const useLinkErrorInAddress = () => {
  const { providers } = useSettings()
  const { providerErrors } = useWords('common')
  const linkErrorFor = useLinkErrors()
  const [text] = useState(() => {
    const error = queryValue('error')
    if (error === undefined) return undefined
    const reason = queryValue('reason')
    history.replaceState(null, '', location.pathname)
    const failed = providers.find(({ id }) => error === `${id}_auth_failed`)
    return failed ? linkErrorFor(reason, failed) : providerErrors.callback
  })
  return text
}

/**
 * Finishes a connection when the browser is back from the provider. The redirect carried no session cookie, because it
 * came from another site; this request does.
 */
export const useFinishedLink = (isLoaded: boolean, actions: DashboardActions) => {
  const { providers } = useSettings()
  const words = useWords('dashboard')
  const linkErrorFor = useLinkErrors()
  const finish = useStableCallback(async () => {
    const provider = providers.find(({ id }) => id === queryValue('linking'))
    if (!provider) return
    history.replaceState(null, '', location.pathname)
    const answer = await api.finishLink(provider.id)
    if (!answer.ok) {
      const { refusal } = answer
      return actions.showRefusal(refusal, isTemporary(refusal) ? undefined : linkErrorFor(refusal.code, provider))
    }
    await actions.reload()
    actions.showSuccess(fill(words.linkedNow, { provider: provider.name }))
  })
  useEffect(() => {
    if (isLoaded) void finish()
  }, [isLoaded])
}
