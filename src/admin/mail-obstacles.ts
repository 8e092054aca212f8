import { mailEventKinds } from '../contract/events.js'
import type { StoredEvent } from '../messages/events.js'
import type { createWaitingMails } from '../messages/mails.js'

import type { User } from '../users/users.js'
import type { Obstacle } from './obstacles.js'

const maxWaiting = 100

type Dependencies = { waitingMails: Pick<ReturnType<typeof createWaitingMails>, 'list'> }

/** The obstacle if mails have failed and wait for another attempt. Mails that wait for their first attempt are no obstacle. */
const waitingObstacles = async ({ waitingMails }: Dependencies, { id, email }: User): Promise<Obstacle[]> => {
  const failedMails = (await waitingMails.list(maxWaiting, { userId: id, email })).filter(
    ({ failure }) => failure !== null,
  )
  const [oldest] = failedMails
  const detail = failedMails.at(-1)?.failure
  if (!oldest || !detail) return []
  const count = failedMails.length
  const since = oldest.createdAt
  const message = `Mails to this user that wait for the mail server: ${count}, since ${since.toISOString()}. The last attempt failed: ${detail}.`
  return [{ code: 'mails_waiting', message, count, since, detail }]
}

const sentences = {
  mail_refused: 'The mail server refused the last mail to this user',
  mail_given_up: 'The last mail to this user was given up',
}

/** The obstacle if the last mail to the user was refused or given up. If the last mail was accepted, earlier refusals do not matter. */
const lastRefusalObstacles = ({ id }: User, recentEvents: readonly StoredEvent[]): Obstacle[] => {
  const last = recentEvents.find(({ kind, userId }) => userId === id && mailEventKinds.some((each) => each === kind))
  if (last?.kind !== 'mail_refused' && last?.kind !== 'mail_given_up') return []
  // The reason begins with the kind of the mail.
  const detail = (last.reason ?? '').split(': ').slice(1).join(': ')
  const since = last.createdAt
  const message = `${sentences[last.kind]}, on ${since.toISOString()}: ${detail}.`
  return [{ code: last.kind, message, since, detail }]
}

/** Finds mails that do not reach the user, who may wait for a link or a code. */
export const createMailObstacles = (deps: Dependencies) => async (user: User, recentEvents: readonly StoredEvent[]) => [
  ...(await waitingObstacles(deps, user)),
  ...lastRefusalObstacles(user, recentEvents),
]
