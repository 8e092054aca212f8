import { describeDevice } from '../../contract/device-names.js'
import { isProviderId, providerLabel } from '../../contract/providers.js'
import { countText } from '../../lib/text.js'
import type { Session } from '../../sessions/session-lookups.js'
import {
  type Command,
  CommandFailure,
  operator,
  print,
  readArguments,
  requireUser,
  throwIfDeleted,
  UsageFault,
  withNouns,
} from '../command.js'
import { asTable, printableJson } from '../terminal/printing.js'

/** How many sessions one statement ends. It also writes a row for each session that has ended, so it must not take too long. */
const batchSize = 2_000

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

export const userSessionsList: Command = {
  summary: 'List the sessions of a user',
  help: `latchkey user sessions list USER [--json]

Shows where the user is signed in and how they proved who they are (pwd, otp, rec for a recovery code, passkey, provider, mail),
last used first: 200 at most. USER is a username, an email or an id.

  --json    one JSON object on each line, for programs; also shows the user agent, the application of a device without a browser,
            and whether the session was used as an administrator`,

  run: async (args, context) => {
    const { positionals, values } = readArguments(args, { json: { type: 'boolean' } }, ['USER'])
    return withNouns(context, 'service role', async (nouns) => {
      const user = await requireUser(nouns, positionals[0] ?? '')
      const sessions = await nouns.sessionLookups.list(user.id)
      if (values.json) {
        for (const session of sessions) await print(context.stdout, printableJson(sessionAsObject(session)))
        return 0
      }
      const rows = sessions.map((session) => [
        session.id,
        session.createdAt.toISOString(),
        session.lastUsedAt.toISOString(),
        session.ip,
        describeDevice(session.userAgent).device,
        proofsText(session),
      ])
      const table = asTable([['ID', 'BEGAN', 'LAST USED', 'ADDRESS', 'DEVICE', 'PROVEN BY'], ...rows])
      await print(context.stdout, rows.length > 0 ? table : `${user.username} has no sessions.`)
      return 0
    })
  },
}

export const userSessionsEnd: Command = {
  summary: 'Sign a user out everywhere',
  help: `latchkey user sessions end USER [--json]

Ends every session of the user, on every device: every instance refuses their access tokens within two seconds. The user
can sign in again at once; \`user disable\` prevents that. USER is a username, an email or an id.

  --json    one JSON object, for programs`,

  run: async (args, context) => {
    const { positionals, values } = readArguments(args, { json: { type: 'boolean' } }, ['USER'])
    return withNouns(context, 'service role', async (nouns) => {
      const { id, username } = await requireUser(nouns, positionals[0] ?? '')
      const outcome = await nouns.operatorChanges.endSessions({ userId: id, client: operator(context) })
      const { endedSessions: endedCount } = throwIfDeleted(outcome, username)
      const message = `Ended ${countText(endedCount, 'session')} of ${username}.`
      await print(context.stdout, values.json ? printableJson({ id, username, sessionsEnded: endedCount }) : message)
      return 0
    })
  },
}

export const sessionsEnd: Command = {
  summary: 'Sign all users out everywhere',
  help: `latchkey sessions end --all [--yes] [--json]

Ends every session of every user: every instance refuses their access tokens within two seconds. Users can sign in again
at once. For one user, use \`latchkey user sessions end USER\`.

  --all     needed: all users
  --yes     needed: without it, changes nothing
  --json    one JSON object, for programs`,

  run: async (args, context) => {
    const options = { all: { type: 'boolean' }, yes: { type: 'boolean' }, json: { type: 'boolean' } } as const
    const { values } = readArguments(args, options, [])
    if (!values.all) throw new UsageFault('--all is needed. For one user: latchkey user sessions end USER.')
    if (!values.yes) throw new CommandFailure('This signs out every user. Add --yes to do it.')
    return withNouns(context, 'service role', async ({ sessions, events }) => {
      // The event is recorded first, because an interrupted command may have ended sessions, too.
      await events.record({ kind: 'sessions_ended', reason: 'all users' }, operator(context))
      let endedCount = 0
      let endedInBatch: number
      do {
        endedInBatch = await sessions.endSome('sessions_ended', batchSize)
        endedCount += endedInBatch
      } while (endedInBatch === batchSize)
      const message = `Ended ${countText(endedCount, 'session')} of all users.`
      await print(context.stdout, values.json ? printableJson({ sessionsEnded: endedCount }) : message)
      return 0
    })
  },
}
