import { client } from './client.js'
import { unmount } from './mount.js'
import { redirectToLogin } from './navigation.js'
import { forgetUnsaved } from './typed-values.js'

/** Clears the screen first, so that the browser keeps no picture of the account for its back button. */
export const leaveSignedOut = (notice: 'signed_out' | 'signed_out_everywhere' | 'account_deleted') => {
  unmount()
  forgetUnsaved()
  location.replace(`/login?notice=${notice}`)
}

/** Leaves the page without a sign-out: the visitor is not signed in, or no longer. */
export const leave = (notice: 'sign_in' | 'session_ended') => {
  unmount()
  redirectToLogin(notice)
}

/**
 * Browsers keep whole pages for the back button, so this page clears the screen when the visitor leaves it. The script leaves the page
 * when another tab signs out or the session has ended, and reloads it when another user has signed in or another tab has changed the
 * username. A new username in an answer does not reload the page, because the user may be in the middle of an action.
 */
export const clearScreenOnLeave = () => {
  addEventListener('pagehide', ({ persisted }) => {
    if (persisted) unmount()
  })
  client.onChange(({ change, by }) => {
    if (by === 'this_tab' || change === 'signed_in') return
    if (change === 'renamed') return by === 'other_tab' ? location.reload() : undefined
    if (change === 'other_user') location.reload()
    else if (by === 'answer') leave('session_ended')
    else leaveSignedOut('signed_out')
  })
}
