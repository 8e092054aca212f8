import type { Authorization, DeviceDecisionBody, DeviceState, EndSession } from '#contract/openid.js'
import type { Answer } from './answers.js'
import type { Client } from './client.js'
import { createRequests } from './requests.js'

/**
 * Calls for the service's own pages to which applications send their users. They are kept out of the client, so that other
 * pages do not load them.
 */
export const createApplicationPageCalls = ({ me }: Pick<Client, 'me'>) => {
  const requests = createRequests('', (...request) => fetch(...request))
  return {
    /** Asks for the next step of an application's request: `parameters` as they came, or the id of a stored `request`. */
    ask: (question: { parameters: string } | { request: string }) =>
      requests.send<Authorization>('POST', 'authorization', question),
    /** Sends the user's answer. `me` comes first, because it renews a session whose tokens have expired while the user was thinking. */
    answer: async (answer: {
      request: string
      user: string
      answer: 'continue' | 'deny'
    }): Promise<Answer<Authorization>> => {
      const caller = await me()
      return caller.refused ? caller : requests.sendWithCsrfToken<Authorization>('POST', 'authorization/answer', answer)
    },
    /** Asks for the request of a device without a browser, by the code that it shows. `me` comes first, because it renews the session. */
    askDevice: async (code: string): Promise<Answer<DeviceState>> => {
      const caller = await me()
      return caller.refused ? caller : requests.sendWithCsrfToken<DeviceState>('POST', 'device/question', { code })
    },
    answerDevice: async (answer: DeviceDecisionBody): Promise<Answer<DeviceState>> => {
      const caller = await me()
      return caller.refused ? caller : requests.sendWithCsrfToken<DeviceState>('POST', 'device/answer', answer)
    },
    /** After `done` this browser is signed out. `me` is called then, because it tells the other tabs. */
    endSession: async (question: { parameters: string; confirmed?: boolean }) => {
      const answer = await requests.sendWithCsrfToken<EndSession>('POST', 'end-session/answer', question)
      if (!answer.refused && answer.value.next === 'done') await me()
      return answer
    },
  }
}
