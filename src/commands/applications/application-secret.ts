import { type Command, operator, print, readArguments, withNouns } from '../command.js'
import { printableJson, printableText } from '../terminal/printable-json.js'
import { quoteCommand } from '../terminal/quote-command.js'
import { throwIfRefused } from './application-faults.js'
import { requireApplication } from './find-application.js'

const jsonOption = { json: { type: 'boolean' } } as const

export const applicationSecretAdd: Command = {
  summary: 'Make a second secret for an application, to replace the first',
  help: `latchkey application secret add APPLICATION [--json]

Prints the new secret, once. Both secrets work until the older one is removed, so that no sign-in fails meanwhile. Put the
new one into the application, then run \`latchkey application secret remove APPLICATION\`.

  --json    {"id": …, "secret": …}; the id is that of the secret`,

  printsOnce: true,
  run: async (args, context) => {
    const { positionals, values } = readArguments(args, jsonOption, ['APPLICATION'])
    return withNouns(context, 'service role', async (nouns) => {
      const { id: applicationId, name } = await requireApplication(nouns, positionals[0] ?? '')
      const added = throwIfRefused(await nouns.applicationChanges.addSecret(applicationId, operator(context)), name)
      const { id, secret } = added
      const next = quoteCommand('application secret remove', name)
      const message = `${secret}\nThe secret is shown only now. When ${printableText(name)} uses it: ${next}`
      await print(context.stdout, values.json ? printableJson({ id, secret }) : message)
      return 0
    })
  },
}

export const applicationSecretRemove: Command = {
  summary: 'Remove the older secret of an application',
  help: `latchkey application secret remove APPLICATION [SECRET] [--json]

Removes the older of two secrets, or the one with the id SECRET (\`latchkey application show\` prints the ids). It stops working at
once. The only secret of an application cannot be removed.

  --json    {"id": …}`,

  run: async (args, context) => {
    const { positionals, values } = readArguments(args, jsonOption, ['APPLICATION', '[SECRET]'])
    return withNouns(context, 'service role', async (nouns) => {
      const { id: applicationId, name } = await requireApplication(nouns, positionals[0] ?? '')
      const { applicationChanges } = nouns
      const { id } = throwIfRefused(
        await applicationChanges.removeSecret(applicationId, positionals[1], operator(context)),
        name,
      )
      await print(context.stdout, values.json ? printableJson({ id }) : `Removed a secret of ${printableText(name)}.`)
      return 0
    })
  },
}
