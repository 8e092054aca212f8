import { userInfo } from 'node:os'

/** The name of the account that this process runs as. It is undefined for a uid without an account, as in many containers. */
export const accountName = (readAccount: () => { username: string } = userInfo) => {
  try {
    return readAccount().username
  } catch {
    return undefined
  }
}
