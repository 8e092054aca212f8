import { type Command, operator, print, readArguments, withNouns } from '../command.js'
import { printableJson, printableText } from '../terminal/printable-json.js'
import { optionsHelp } from './application-add.js'
import { throwIfRefused } from './application-faults.js'
import { changeOptions, readChange } from './application-options.js'
import { warnOfPrivateBackchannel } from './backchannel-reach.js'
import { requireApplication } from './find-application.js'

export const applicationChange: Command = {
  summary: 'Change an application',
  help: `latchkey application change APPLICATION [options] [--json]

APPLICATION is a name or an id. What is not named stays as it is. Addresses and groups that are given replace all earlier ones
of their kind; \`--after-logout none\` and \`--backchannel-logout none\` remove them. Users who may no longer use the application
lose access at once. The kind of an application cannot be changed: delete it and add it anew.

  --name NAME          another name
${optionsHelp}
  --pkce               requires a PKCE challenge again
  --json               one JSON object, for programs`,

  run: async (args, context) => {
    const { positionals, values } = readArguments(args, changeOptions, ['APPLICATION'])
    const change = readChange(values)
    return withNouns(context, 'service role', async (nouns) => {
      const { id, name: formerName } = await requireApplication(nouns, positionals[0] ?? '')
      const changed = throwIfRefused(await nouns.applicationChanges.change(id, change, operator(context)), formerName)
      const { application, summary } = changed
      await warnOfPrivateBackchannel(context, change.backchannelLogout, nouns)
      const name = printableText(application.name)
      const message =
        summary === '' ? `${name} is like this already.` : `Changed ${name}: ${summary.replaceAll('_', ' ')}.`
      await print(context.stdout, values.json ? printableJson({ ...application, changed: summary !== '' }) : message)
      return 0
    })
  },
}
