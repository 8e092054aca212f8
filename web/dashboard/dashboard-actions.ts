import { createContext } from 'preact'
import { useContext } from 'preact/hooks'
import type { Refusal } from '../requests.js'

/** How the parts of the dashboard speak to the whole: what was done, what was refused, what must be read anew. */
export type DashboardActions = {
  tell: (text: string) => void
  refuse: (refusal: Refusal, text?: string) => void
  reload: () => Promise<void>
}

export const DashboardActionsContext = createContext<DashboardActions | undefined>(undefined)

export const useDashboardActions = () => {
  const actions = useContext(DashboardActionsContext)
  if (!actions) throw new Error('A part of the dashboard was used outside of it')
  return actions
}
