import { mailEventKinds } from '../../contract/events.js'
import type { StoredEvent } from '../events/events.js'
import type { createWaitingMails } from '../mails/waiting-mails.js'
import type { User } from '../users/users.js'
import type { Obstacle } from './obstacles.js'

const maxWaiting = 100

type Dependencies = { waitingMails: Pick<ReturnType<typeof createWaitingMails>, 'list'> }

/** Not those that wait for their first attempt. */
const waitingOf = async ({ waitingMails }: Dependencies, { id, email }: User): Promise<Obstacle[]> => {
  const failed = (await waitingMails.list(maxWaiting, { userId: id, email })).filter(({ failure }) => failure !== null)
  const [oldest] = failed
  const detail = failed.at(-1)?.failure
  if (!oldest || !detail) return []
  const count = failed.length
  const since = oldest.createdAt
  const message = `Mails to this user that wait for the mail server: ${count}, since ${since.toISOString()}. The last attempt failed: ${detail}.`
  return [{ code: 'mails_waiting', message, count, since, detail }]
}

const sentences = {
  mail_refused: 'The mail server refused the last mail to this user',
  mail_given_up: 'The last mail to this user was given up',
}

/** The refusal of the last mail that was accepted or refused: after an accepted one, earlier ones do not matter. */
const lastRefusal = ({ id }: User, recent: readonly StoredEvent[]): Obstacle[] => {
  const last = recent.find(({ kind, userId }) => userId === id && mailEventKinds.some((each) => each === kind))
  if (last?.kind !== 'mail_refused' && last?.kind !== 'mail_given_up') return []
  // The reason begins with the kind of the mail.
  const detail = (last.reason ?? '').split(': ').slice(1).join(': ')
  const since = last.createdAt
  const message = `${sentences[last.kind]}, on ${since.toISOString()}: ${detail}.`
  return [{ code: last.kind, message, since, detail }]
}

/** Mails with links and codes that do not reach the user. */
export const createMailObstacles = (deps: Dependencies) => async (user: User, recent: readonly StoredEvent[]) => [
  ...(await waitingOf(deps, user)),
  ...lastRefusal(user, recent),
]
