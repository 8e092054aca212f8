import type { Application } from '../../applications/applications.js'
import { seconds } from '../../lib/durations.js'
import { type Command, type CommandNouns, operator, print, readArguments, withNouns } from '../command.js'
import { asTable, printableJson, printableText, printList, quoteCommand } from '../terminal/printing.js'
import { requireApplication, throwIfRefused } from './application-options.js'

const jsonOption = { json: { type: 'boolean' } } as const

const accessText = ({ access, groups }: Application) =>
  access === 'everyone' ? 'everyone' : `members of ${groups.join(', ')}`

const applicationTable = (applications: readonly Application[]) =>
  asTable([
    ['NAME', 'KIND', 'FOR', 'HOME', 'ID'],
    ...applications.map((each) => [each.name, each.kind, accessText(each), each.home, each.id]),
  ])

export const applicationList: Command = {
  summary: 'List the applications that sign their users in here',
  help: `latchkey application list [--json]

  --json    one JSON object on each line, for programs`,

  run: async (args, context) => {
    const { values } = readArguments(args, jsonOption, [])
    return withNouns(context, 'service role', async ({ applications }) => {
      const all = await applications.list()
      const none = 'There are no applications. Add one with: latchkey application add'
      await printList(context, all, { json: values.json, asTable: applicationTable, none })
      return 0
    })
  },
}

const rowsFor = (name: string, values: readonly string[]) =>
  values.length > 0 ? values.map((value, index) => [index === 0 ? name : '', value]) : [[name, 'none']]

const fieldsOf = (application: Application, issuer: string) => [
  ['name', application.name],
  ['id', application.id],
  ['issuer', issuer],
  ['kind', application.kind],
  ['for', accessText(application)],
  ['home', application.home],
  ...rowsFor('redirect', application.redirectAddresses),
  ...rowsFor('after logout', application.logoutAddresses),
  ['back-channel logout', application.backchannelLogout ?? 'none'],
  ['consent', application.consent],
  ['factors', String(application.factors)],
  ['max age', application.maxAge === undefined ? 'any' : `${application.maxAge / seconds} s`],
  ['PKCE', application.pkce ? 'required' : 'not required'],
  ['algorithm', application.algorithm],
  ...(application.kind === 'native' ? [['devices', application.deviceFlow ? 'may sign in' : 'may not sign in']] : []),
  ['created', application.createdAt.toISOString()],
]

const readDetails = async ({ applicationSecrets, applicationErrors }: CommandNouns, { id }: Application) => ({
  secrets: await applicationSecrets.list(id),
  ...(await applicationErrors.list(id)),
})

const problemLines = (title: string, problems: readonly { seenAt: Date; count: number; message: string }[]) =>
  `${title}\n${asTable(problems.map(({ seenAt, count, message }) => [seenAt.toISOString(), `${count}x`, message]))}`

export const applicationShow: Command = {
  summary: 'Show an application, and what went wrong with it lately',
  help: `latchkey application show APPLICATION [--json]

APPLICATION is a name or an id. The last 20 different errors of an application are kept, with a fixed share for each kind of
error. A request that ended normally without a sign-in (a user cancelled, or was not signed in) is counted separately, not as an
error.

  --json    one JSON object, for programs`,

  run: async (args, context) => {
    const { positionals, values } = readArguments(args, jsonOption, ['APPLICATION'])
    return withNouns(context, 'service role', async (nouns) => {
      const application = await requireApplication(nouns, positionals[0] ?? '')
      const { secrets, errors, normalEnds } = await readDetails(nouns, application)
      if (values.json) {
        await print(
          context.stdout,
          printableJson({ ...application, issuer: nouns.issuer, secrets, errors, normalEnds }),
        )
        return 0
      }
      const secretTexts = secrets.map(({ id, createdAt }) => `${id} of ${createdAt.toISOString().slice(0, 10)}`)
      const fields = [...fieldsOf(application, nouns.issuer), ...rowsFor('secret', secretTexts)]
      const parts = [
        asTable(fields),
        errors.length > 0 ? problemLines('Last errors:', errors) : 'No errors are known.',
        ...(normalEnds.length > 0 ? [problemLines('Ended without a sign-in, which is no error:', normalEnds)] : []),
      ]
      await print(context.stdout, parts.join('\n\n'))
      return 0
    })
  },
}

export const applicationDelete: Command = {
  summary: 'Delete an application: users cannot sign in to it any more',
  help: `latchkey application delete APPLICATION [--yes] [--json]

Its codes, tokens and consents are deleted with it, and its address gets no logout notice any more. An application with
signed-in users is deleted only with --yes. APPLICATION is a name or an id.

  --yes     delete it although it has signed-in users
  --json    one JSON object, for programs`,

  run: async (args, context) => {
    const { positionals, values } = readArguments(args, { yes: { type: 'boolean' }, ...jsonOption }, ['APPLICATION'])
    return withNouns(context, 'service role', async (nouns) => {
      const { id, name } = await requireApplication(nouns, positionals[0] ?? '')
      const alsoIfUsed = values.yes ?? false
      throwIfRefused(await nouns.applicationChanges.delete(id, operator(context), alsoIfUsed), name)
      const message = `Deleted ${printableText(name)}.`
      await print(context.stdout, values.json ? printableJson({ id, name, deleted: true }) : message)
      return 0
    })
  },
}

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
