import type { Accepted, SignedIn } from '#contract/schemas.js'
import type { Answer } from './answers.js'
import type { Presence } from './presence.js'
import type { Renewal } from './renewal.js'
import type { Method, Requests } from './requests.js'

/**
 * The ways to send a call: by anyone (`post`), by a signed-in user (`read` and `change`), and with an answer that sets other tokens
 * (`replaceTokens` and `signIn`). `signOut` is given a call that ends the session. `asking()` tells the other tabs who is signed in now.
 */
export const createSending = (deps: Requests & Renewal & Presence) => {
  const { send, sendWithCsrfToken, asSignedIn, whileNoRenewal, asking } = deps
  const post = <Value>(path: string, body?: object) => send<Value>('POST', path, body)
  const read = <Value>(path: string) => asSignedIn(() => send<Value>('GET', path))
  const change = <Value = undefined>(method: Method, path: string, body?: object) =>
    asSignedIn(() => sendWithCsrfToken<Value>(method, path, body))
  const replaceTokens = <Value = undefined>(method: Method, path: string, body: object) =>
    asSignedIn(() => whileNoRenewal(() => sendWithCsrfToken<Value>(method, path, body)))

  const signIn = async <Value extends SignedIn | { next: string } | Accepted | undefined = SignedIn>(
    path: string,
    body: object,
    sendRequest = post,
  ) => {
    const answer = await whileNoRenewal(() => sendRequest<Value>(path, body))
    if (!answer.refused && answer.value && 'user' in answer.value) asking()(answer.value.user, 'this_tab')
    return answer
  }

  const signOut = async (pendingAnswer: Promise<Answer<undefined>>) => {
    const answer = await pendingAnswer
    if (!answer.refused) asking()(null, 'this_tab')
    return answer
  }

  return { ...deps, post, read, change, replaceTokens, signIn, signOut }
}

export type Sending = ReturnType<typeof createSending>
