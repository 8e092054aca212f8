import { describeDevice } from '../../contract/device-names.js'
import { isProviderId, providerLabel } from '../../contract/providers.js'
import { countText } from '../../lib/text.js'
import type { Session } from '../../sessions/session-lookups.js'
import { CommandFailure, command, requireUser, throwIfDeleted, UsageFault } from '../command.js'
import { asTable, listOf } from '../terminal/printing.js'

/** How many sessions one statement ends. It also writes a row for each session that has ended, so it must not take too long. */
const batchSize = 2_000

/** Ends everything, a batch after the other. Returns how much there was. */
const endAll = async (endSome: (limit: number) => Promise<number>) => {
  let ended = 0
  for (let batch = batchSize; batch === batchSize; ended += batch) batch = await endSome(batchSize)
  return ended
}

/** Everything that a session has, so that nothing which is added later is missing here. */
export const sessionAsObject = ({ createdAt, lastUsedAt, expiresAt, ...session }: Session) => ({
  ...session,
  createdAt: createdAt.toISOString(),
  lastUsedAt: lastUsedAt.toISOString(),
  expiresAt: expiresAt.toISOString(),
})

/** How the user has proven who they are: `pwd otp`, or `provider (GitHub)`. */
const proofsText = ({ methods, provider }: Session) =>
  methods
    .map((method) =>
      method === 'provider' && isProviderId(provider) ? `provider (${providerLabel(provider)})` : method,
    )
    .join(' ')

const sessionTable = (sessions: readonly Session[]) =>
  asTable([
    ['ID', 'BEGAN', 'LAST USED', 'ADDRESS', 'DEVICE', 'PROVEN BY'],
    ...sessions.map((session) => [
      session.id,
      session.createdAt.toISOString(),
      session.lastUsedAt.toISOString(),
      session.ip,
      describeDevice(session.userAgent).device,
      proofsText(session),
    ]),
  ])

export const userSessionsList = command({
  summary: 'List the sessions of a user',
  help: `latchkey user sessions list USER [--json]

Shows where the user is signed in and how they proved who they are (pwd, otp, rec for a recovery code, passkey, provider, mail),
last used first: 200 at most. USER is a username, an email or an id.`,
  json: `one JSON object on each line, for programs; also shows the user agent, the application of a device without a browser,
            and whether the session was used as an administrator`,
  args: ['USER'],
  run: async (rooms, { args: [userName] }) => {
    const { id, username } = await requireUser(rooms, userName)
    const none = `${username} has no sessions.`
    return listOf(await rooms.sessionLookups.list(id), { asJson: sessionAsObject, asTable: sessionTable, none })
  },
})

export const userSessionsEnd = command({
  summary: 'Sign a user out everywhere',
  help: `latchkey user sessions end USER [--json]

Ends every session of the user, on every device: every instance refuses their access tokens within two seconds. The user
can sign in again at once; \`user disable\` prevents that. USER is a username, an email or an id.`,
  json: '{"id", "username", "sessionsEnded"}',
  args: ['USER'],
  run: async (rooms, { args: [userName], operator }) => {
    const { id, username } = await requireUser(rooms, userName)
    const outcome = await rooms.operatorChanges.endSessions({ userId: id, client: operator })
    const { endedSessions: sessionsEnded } = throwIfDeleted(outcome, username)
    return {
      json: { id, username, sessionsEnded },
      text: `Ended ${countText(sessionsEnded, 'session')} of ${username}.`,
    }
  },
})

export const sessionsEnd = command({
  summary: 'Sign all users out everywhere',
  help: `latchkey sessions end --all [--yes] [--json]

Ends every session and every personal token of every user: every instance refuses them within two seconds. Users can sign in
again at once. For one user, use \`latchkey user sessions end USER\`.

  --all     needed: all users
  --yes     needed: without it, changes nothing`,
  json: '{"sessionsEnded", "tokensEnded"}',
  options: { all: { type: 'boolean' }, yes: { type: 'boolean' } },
  read: ({ values }) => {
    if (!values.all) throw new UsageFault('--all is needed. For one user: latchkey user sessions end USER.')
    if (!values.yes) throw new CommandFailure('This signs out every user. Add --yes to do it.')
    return {}
  },
  run: async ({ sessions, personalTokens, events }, { operator }) => {
    // The event is recorded first, because an interrupted command may have ended sessions, too.
    await events.record({ kind: 'sessions_ended', reason: 'all users' }, operator)
    const sessionsEnded = await endAll((limit) => sessions.endSome('sessions_ended', limit))
    const tokensEnded = await endAll(personalTokens.endSome)
    const ofTokens = tokensEnded === 0 ? '' : ` and ${countText(tokensEnded, 'personal token')}`
    return {
      json: { sessionsEnded, tokensEnded },
      text: `Ended ${countText(sessionsEnded, 'session')}${ofTokens} of all users.`,
    }
  },
})
