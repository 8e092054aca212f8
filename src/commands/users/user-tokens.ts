import { isRefused } from '../../contract/outcome.js'
import { type PersonalToken, personalTokenBody } from '../../personal-tokens/personal-token-body.js'
import { CommandFailure, command, requireUser, throwIfDeleted } from '../command.js'
import { asTable, listOf, printableText } from '../terminal/printing.js'

const tokenTable = (tokens: readonly PersonalToken[]) =>
  asTable([
    ['ID', 'NAME', 'APPLICATIONS', 'MADE', 'EXPIRES', 'LAST USED'],
    ...tokens.map(({ id, name, applications, createdAt, expiresAt, lastUsedAt }) => [
      id,
      name,
      applications.map((application) => application.name).join(', ') || 'none',
      createdAt.toISOString(),
      expiresAt.toISOString(),
      lastUsedAt?.toISOString() ?? 'never',
    ]),
  ])

export const userTokens = command({
  summary: 'List the personal tokens of a user, or end one',
  help: `latchkey user tokens USER [--end ID] [--json]

Lists the tokens with which programs of the user enter applications behind a proxy. Nobody can see a token again, only when it was
made and last used (noted once an hour). USER is a username, an email or an id.

  --end ID  ends this token: every instance refuses it within two seconds`,
  json: 'one JSON object on each line: {"id", "name", "applications", "createdAt", "expiresAt", "lastUsedAt"}; with --end {"id", "username", "ended"}',
  args: ['USER'],
  options: { end: { type: 'string' } },
  run: async (rooms, { args: [userName], values, operator }) => {
    const { personalTokens } = rooms
    const { id: userId, username } = await requireUser(rooms, userName)
    if (values.end === undefined) {
      const none = `${username} has no personal tokens.`
      return listOf(await personalTokens.list(userId), { asJson: personalTokenBody, asTable: tokenTable, none })
    }
    const context = { userId, client: operator }
    const ended = throwIfDeleted(await personalTokens.endByOperator(context, values.end), username)
    if (isRefused(ended))
      throw new CommandFailure(`${username} has no token ${values.end}. See: latchkey user tokens ${username}`)
    return {
      json: { id: userId, username, ended: values.end },
      text: `Ended the token ${printableText(ended.name)} of ${username}.`,
    }
  },
})
