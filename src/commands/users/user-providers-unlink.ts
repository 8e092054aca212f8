import { isRefused } from '../../contract/outcome.js'
import { isProviderId } from '../../contract/providers.js'
import { countText } from '../../lib/text.js'
import { type Command, CommandFailure, operator, print, readArguments, withNouns } from '../command.js'
import { requireUser, throwIfDeleted } from '../find-user.js'
import { printableJson, printableText } from '../terminal/printable-json.js'

export const userProvidersUnlink: Command = {
  summary: 'Remove the link between a user and an account at a provider',
  help: `latchkey user providers unlink USER PROVIDER [--yes] [--json]

The user cannot sign in with that provider any more, and a sign-in there with the same address does not link the two again:
only the user can, on the account page. The sessions that began with this provider end. The user gets a mail. If it was the last
way to sign in, the user sets a password by “Forgot password?”. PROVIDER is the id that “latchkey user show USER --json” lists.
USER is a username, an email or an id. For an account that was stolen, use “latchkey user recover”.

  --yes     needed: without it, says what would happen and changes nothing
  --json    {"id": …, "username": …, "provider": …, "endedSessions": …}`,

  run: async (args, context) => {
    const { positionals, values } = readArguments(args, { yes: { type: 'boolean' }, json: { type: 'boolean' } }, [
      'USER',
      'PROVIDER',
    ])
    const [, provider = ''] = positionals
    return withNouns(context, 'service role', async ({ users, operatorChanges, providerName }) => {
      const { id, username, providers } = await requireUser({ users }, positionals[0] ?? '')
      if (!isProviderId(provider) || !providers.includes(provider))
        throw new CommandFailure(
          `${username} has no link to ${printableText(JSON.stringify(provider))}. Linked: ${providers.join(', ') || 'none'}.`,
        )
      if (!values.yes)
        throw new CommandFailure(
          `This removes the link of ${username} to ${providerName(provider)}, ends the sessions that began with it and sends a mail. Add --yes to do it.`,
        )
      const actor = { userId: id, client: operator(context) }
      const outcome = throwIfDeleted(await operatorChanges.unlinkProvider(actor, provider), username)
      if (isRefused(outcome)) throw new CommandFailure('The link was removed in the meantime.')
      const { endedSessions } = outcome
      await print(
        context.stdout,
        values.json
          ? printableJson({ id, username, provider, endedSessions })
          : `Removed the link of ${username} to ${providerName(provider)}; ended ${countText(endedSessions, 'session')}. A running service sends the mail.`,
      )
      return 0
    })
  },
}
