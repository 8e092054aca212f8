import { nameOfApplicationIn } from '../browser/applications.js'
import { queryValue } from '../browser/navigation.js'

/** The application that has sent the user here to add a second factor, and the way back to it. */
export const waitingApplication = () => {
  const returnTo = queryValue('returnTo')
  const name = nameOfApplicationIn(returnTo)
  return returnTo === undefined || name === undefined ? undefined : { name, returnTo }
}

/** Goes back to the application after a factor was added. True if there is one, so that the page is left. */
export const returnToApplication = () => {
  const waiting = waitingApplication()
  if (waiting) location.replace(waiting.returnTo)
  return waiting !== undefined
}
