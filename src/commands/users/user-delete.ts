import { createInterface } from 'node:readline'
import {
  type Command,
  type CommandContext,
  CommandFailure,
  operator,
  print,
  readArguments,
  withNouns,
} from '../command.js'
import { requireUser, throwIfDeleted } from '../find-user.js'
import { printableJson } from '../terminal/printable-json.js'

/** Resolves to the answer, or to undefined after Ctrl-C, Ctrl-D, or when the terminal is closed. */
const ask = ({ stdin, stderr }: CommandContext, question: string) =>
  new Promise<string | undefined>((resolve) => {
    const prompt = createInterface({ input: stdin, output: stderr })
    prompt.once('SIGINT', () => prompt.close())
    prompt.once('close', () => resolve(undefined))
    prompt.question(question, (answer) => {
      resolve(answer)
      prompt.close()
    })
  })

/** The operator must type the username, and so notices if USER was wrong. */
const confirm = async (context: CommandContext, username: string) => {
  if (!context.stdin.isTTY) throw new CommandFailure(`This deletes ${username} for good. Add --yes to do it.`)
  const answer = await ask(context, `This deletes ${username} for good. Type the username to do it: `)
  if (answer === undefined) throw new CommandFailure('\nNothing was changed.')
  if (answer.trim() !== username) throw new CommandFailure('This is not the username. Nothing was changed.')
}

export const userDelete: Command = {
  summary: 'Delete a user and everything that is stored about them',
  help: `latchkey user delete USER [--yes] [--json]

Deletes the account with its sessions, providers, factors, waiting mails and webhooks, in one transaction. The email, the username
and former usernames are free at once. Every instance refuses the user's access tokens within two seconds. Events stay without
personal data. The user gets a last mail, and webhooks tell your programs (user.deleted). Nothing can be restored, except from a
backup. USER is a username, an email or an id.

  --yes    do not ask
  --json   print the result as JSON: {"deleted": ID}`,

  run: async (args, context) => {
    const options = { yes: { type: 'boolean' }, json: { type: 'boolean' } } as const
    const { positionals, values } = readArguments(args, options, ['USER'])
    return withNouns(context, 'service role', async (nouns) => {
      const { id, username } = await requireUser(nouns, positionals[0] ?? '')
      if (!values.yes) await confirm(context, username)
      throwIfDeleted(await nouns.operatorChanges.remove({ userId: id, client: operator(context) }), username)
      await print(
        context.stdout,
        values.json
          ? printableJson({ deleted: id })
          : `Deleted ${username} (${id}). A running service sends the last mail.`,
      )
      return 0
    })
  },
}
