import { unmount } from '../mount.js'
import { listenToOtherTabs, tellOtherTabs } from '../other-tabs.js'

/** Clears the screen first, so that the browser keeps no picture of the account for its back button. */
export const leaveSignedOut = (notice: 'signed_out' | 'signed_out_everywhere') => {
  tellOtherTabs('signed-out')
  unmount()
  location.replace(`/login?notice=${notice}`)
}

/**
 * Browsers keep whole pages for the back button, so this page clears the screen when it is put aside. It also leaves when
 * another tab signs out.
 */
export const clearScreenOnLeave = () => {
  addEventListener('pagehide', ({ persisted }) => {
    if (persisted) unmount()
  })
  listenToOtherTabs('signed-out', () => {
    unmount()
    location.replace('/login?notice=signed_out')
  })
}
