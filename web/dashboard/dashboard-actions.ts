import { createContext } from 'preact'
import { useContext } from 'preact/hooks'
import type { Refusal } from '#client/client.js'
import type { Problems } from '../components/form.js'
import type { WithFreshSignIn } from '../sign-in/step-up.js'

/**
 * The functions of the page for its panels: to show that something worked or was refused, to load everything again, and to ask for a
 * proof.
 */
export type DashboardActions = {
  showSuccess: (text: string) => void
  /** `values` are for the placeholders in the sentence. */
  showRefusal: (refusal: Refusal, values?: Record<string, string>) => void
  reload: () => Promise<void>
  /** Makes a call that needs a fresh sign-in. */
  withFreshSignIn: WithFreshSignIn
}

export const DashboardActionsContext = createContext<DashboardActions | undefined>(undefined)

export const useDashboardActions = () => {
  const actions = useContext(DashboardActionsContext)
  if (!actions) throw new Error('A panel was used outside of the dashboard')
  return actions
}

/** Returns a function that gives the problems of a form whose call was refused. Without a session, another page follows. */
export const useFormProblems = (problemsOf: (refusal: Refusal) => Problems) => {
  const { showRefusal } = useDashboardActions()
  return (refusal: Refusal): Problems | undefined => {
    // The user has closed the dialog that asked for a proof.
    if (refusal.refused === 'fresh_sign_in_required') return {}
    if (refusal.refused !== 'not_authenticated') return problemsOf(refusal)
    showRefusal(refusal)
    return undefined
  }
}
