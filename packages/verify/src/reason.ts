import { isObject } from './token-text.js'

/** `fetch` says only that it failed. The reason, such as ECONNREFUSED or a wrong protocol, is in the cause. */
export const reasonOf = (error: unknown) => {
  if (!(error instanceof Error)) return 'unknown'
  const { code, message } = isObject(error.cause) ? error.cause : {}
  const cause = [code, message].find((text) => typeof text === 'string' && text !== '')
  return cause === undefined ? error.message : `${error.message} (${cause})`
}
