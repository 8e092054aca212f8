import { createContext } from 'preact'
import { useContext } from 'preact/hooks'
import type { Refusal } from '#client/client.js'
import type { AdminSelf } from '#contract/admin/admin-bodies.js'
import type { WithFreshSignIn } from '../step-up/use-step-up.js'
import type { Departure } from './place.js'

/** The functions of the page for its screens. */
export type Admin = {
  self: AdminSelf
  /** Whether groups, invitations and applications may be changed, and users deleted. */
  mayManage: boolean
  /** Whether another screen was shown before: at first the browser itself begins at the top of the page. */
  isNavigated: boolean
  /** How this screen was left, if the user comes back to it. */
  returned: Departure | undefined
  showSuccess: (text: string) => void
  /** `again`: what a button does once more. */
  showError: (text: string, again?: () => Promise<void>) => void
  /** True if the page shows something else now: no session, no longer an administrator, or a proof is needed first. */
  isLeftAfter: (refusal: Refusal) => Promise<boolean>
  /** For changes, which need a fresh second factor. */
  withFreshSignIn: WithFreshSignIn
}

export const AdminContext = createContext<Admin | undefined>(undefined)

export const useAdmin = () => {
  const admin = useContext(AdminContext)
  if (!admin) throw new Error('A screen was used outside of the page of administrators')
  return admin
}
