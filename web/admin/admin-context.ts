import { createContext } from 'preact'
import { useContext } from 'preact/hooks'
import type { Refusal } from '#client/client.js'
import type { AdminSelf } from '#contract/admin/admin-bodies.js'
import type { WithFreshSignIn } from '../sign-in/step-up.js'
import type { Departure } from './place.js'

/** The functions of the page for its screens. */
export type Admin = {
  self: AdminSelf
  /** Whether groups, invitations and applications may be changed, and users deleted. */
  mayManage: boolean
  /** Whether another screen was shown before. Then the heading of this one takes the focus; the first screen needs no help. */
  hasNavigated: boolean
  /** How this screen was left, if the user now comes back to it. */
  earlierDeparture: Departure | undefined
  showSuccess: (text: string) => void
  /** `retry`: the action of the button "Try again". */
  showError: (text: string, retry?: () => Promise<void>) => void
  /**
   * Leaves the screens if the refusal means that there is no session, that the user is no longer an administrator, or that a proof is
   * needed first. Returns whether it did.
   */
  leaveIfEnded: (refusal: Refusal) => Promise<boolean>
  /** Makes a call that changes something. Such a call needs a fresh second factor, so the user may be asked for one first. */
  withFreshSignIn: WithFreshSignIn
}

export const AdminContext = createContext<Admin | undefined>(undefined)

export const useAdmin = () => {
  const admin = useContext(AdminContext)
  if (!admin) throw new Error('A screen was used outside of the page of administrators')
  return admin
}
