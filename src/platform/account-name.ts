import { userInfo } from 'node:os'

/** The name of the account that this process runs as. A uid that no account has, as in many containers, has none. */
export const accountName = (readAccount: () => { username: string } = userInfo) => {
  try {
    return readAccount().username
  } catch {
    return undefined
  }
}
