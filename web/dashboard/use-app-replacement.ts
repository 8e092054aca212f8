import { useState } from 'preact/hooks'
import type { TotpBegun } from '#contract/schemas.js'
import { client } from '../browser/client.js'
import { useDashboardActions } from './dashboard-actions.js'
import { goToPlace } from './place-in-address.js'

export type AppReplacement = ReturnType<typeof useAppReplacement>

/**
 * Sets up the authenticator app again. The user can begin at several places of the page, and continues in the panel of two-step
 * sign-in.
 */
export const useAppReplacement = () => {
  const actions = useDashboardActions()
  const [totp, setTotp] = useState<TotpBegun>()
  const begin = async () => {
    // The user may already have scanned the QR code on the page. A new one would make it useless.
    if (totp) return goToPlace('#two-step')
    const answer = await actions.withFreshSignIn(client.beginNewTotp)
    if (answer.refused) return actions.showRefusal(answer)
    setTotp(answer.value)
    goToPlace('#two-step')
  }
  return { totp, begin, end: () => setTotp(undefined) }
}
