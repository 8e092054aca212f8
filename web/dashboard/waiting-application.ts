import { applicationToReturnTo } from '../browser/applications.js'
import { queryValue } from '../browser/navigation.js'

/** The application that has sent the user here to add a second factor, and the way back to it. */
export const waitingApplication = () => {
  const returnTo = queryValue('returnTo')
  const name = applicationToReturnTo(returnTo)
  return returnTo === undefined || name === undefined ? undefined : { name, returnTo }
}

/** The factor was added. True if the page is left. */
export const returnToApplication = () => {
  const waiting = waitingApplication()
  if (waiting) location.replace(waiting.returnTo)
  return waiting !== undefined
}
