import { unmount } from '../mount.js'
import { announce, onNews } from '../tabs.js'

/** Clears the screen before it leaves, so that the browser keeps no picture of the account to go back to. */
export const leaveSignedOut = (notice: 'signed_out' | 'signed_out_everywhere') => {
  announce('signed-out')
  unmount()
  location.replace(`/login?notice=${notice}`)
}

/**
 * Browsers keep whole pages, script and all, for the back button. This one is emptied on its way there; and a tab that
 * is told of a sign-out elsewhere leaves as well.
 */
export const guardTheScreen = () => {
  addEventListener('pagehide', ({ persisted }) => {
    if (persisted) unmount()
  })
  onNews('signed-out', () => {
    unmount()
    location.replace('/login?notice=signed_out')
  })
}
