import type { Answer } from './answers.js'
import type { Client } from './client.js'
import { createRequests, type Method } from './requests.js'

/**
 * Requests for the page of administrators. They are no part of the client, so that other pages do not load them. Paths are below
 * `/api/auth/`.
 */
export const createAdminRequests = ({ me }: Pick<Client, 'me'>) => {
  const requests = createRequests('', (...request) => fetch(...request))

  /**
   * While the tokens of a session have expired, the service answers as if there were no session. So `me` is called, which renews the
   * tokens, and the call is repeated.
   */
  const asMember = async <Value>(call: () => Promise<Answer<Value>>): Promise<Answer<Value>> => {
    const first = await call()
    if (first.refused !== 'not_found' && first.refused !== 'not_authenticated') return first
    const caller = await me()
    return caller.refused ? caller : call()
  }

  return {
    read: <Value>(path: string) => asMember(() => requests.send<Value>('GET', path)),
    /** `version`: of what is changed. It is refused if it is another one by now. */
    change: <Value = undefined>(method: Method, path: string, body: object = {}, version?: string) =>
      asMember(() =>
        requests.sendWithCsrfToken<Value>(
          method,
          path,
          body,
          '',
          version === undefined ? undefined : { 'if-match': `"${version}"` },
        ),
      ),
  }
}
