import { isObject } from './token-text.js'

/** `fetch` says only that it failed. The reason, such as ECONNREFUSED or a wrong protocol, is in the cause. */
export const reasonOf = (error: unknown) => {
  if (!(error instanceof Error)) return 'unknown'
  const { code, message } = isObject(error.cause) ? error.cause : {}
  const cause = code ?? message
  return typeof cause === 'string' && cause !== '' ? `${error.message} (${cause})` : error.message
}
