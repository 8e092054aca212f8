import { OperatorError, whyUnwritable } from '../lib/operator-error.js'
import { programVersion } from '../platform/version.js'
import { applicationAdd, applicationChange } from './applications/application-change.js'
import {
  applicationCheck,
  applicationDelete,
  applicationList,
  applicationSecretAdd,
  applicationSecretRemove,
  applicationShow,
} from './applications/applications.js'
import { type Command, type CommandContext, OutputFailure, print, UsageFault } from './command.js'
import { apply } from './configuration/apply.js'
import { exportConfiguration } from './configuration/export.js'
import { doctor } from './doctor/doctor.js'
import { fieldsList, fieldsPurge, fieldsTypes } from './fields.js'
import { groupAdd, groupDelete, groupList, groupMembers, userGroups } from './groups.js'
import { contentLoad } from './import/content-load.js'
import { passwordsBuild } from './import/passwords-build.js'
import { userImport } from './import/user-import.js'
import { backup } from './operations/backup.js'
import { events } from './operations/events.js'
import { keysList, keysRotate } from './operations/keys.js'
import { limitsClear } from './operations/limits-clear.js'
import { mailsList } from './operations/mails.js'
import { restore } from './operations/restore.js'
import { serviceKeyAdd, serviceKeyList } from './operations/service-keys.js'
import { stats } from './operations/stats.js'
import { webhooksList, webhooksRetry } from './operations/webhooks.js'
import { resourceAdd, resourceChange, resourceDelete, resourceList, resourceShow } from './resources/resources.js'
import { migrate } from './serving/migrate.js'
import { serve } from './serving/serve.js'
import { printableJson, printableLines } from './terminal/printing.js'
import { inviteCommand } from './users/invite.js'
import { setupLink } from './users/setup-link.js'
import { userAdd } from './users/user-add.js'
import {
  userChange,
  userDelete,
  userDisable,
  userEnable,
  userExpirePassword,
  userFactorsReset,
  userLockDown,
  userProvidersUnlink,
  userSendReset,
  userSetEmail,
} from './users/user-changes.js'
import { userExport } from './users/user-export.js'
import { userList, userSearch } from './users/user-list.js'
import { userRecover, userResetLink } from './users/user-recover.js'
import { sessionsEnd, userSessionsEnd, userSessionsList } from './users/user-sessions.js'
import { userShow } from './users/user-show.js'
import { userTokens } from './users/user-tokens.js'
import { wordsList } from './words-list.js'

/** Every command, in the order of the help. */
const commands: Readonly<Record<string, Command>> = {
  serve,
  migrate,
  backup,
  restore,
  doctor,
  'setup-link': setupLink,
  events,
  stats,
  invite: inviteCommand,
  'user add': userAdd,
  'user list': userList,
  'user search': userSearch,
  'user show': userShow,
  'user disable': userDisable,
  'user enable': userEnable,
  'user lock-down': userLockDown,
  'user send-reset': userSendReset,
  'user reset-link': userResetLink,
  'user delete': userDelete,
  'user expire-password': userExpirePassword,
  'user sessions list': userSessionsList,
  'user sessions end': userSessionsEnd,
  'user tokens': userTokens,
  'user factors reset': userFactorsReset,
  'user set-email': userSetEmail,
  'user recover': userRecover,
  'user providers unlink': userProvidersUnlink,
  'user import': userImport,
  'user export': userExport,
  'user groups': userGroups,
  'user change': userChange,
  'group add': groupAdd,
  'group list': groupList,
  'group members': groupMembers,
  'group delete': groupDelete,
  'application add': applicationAdd,
  'application list': applicationList,
  'application show': applicationShow,
  'application check': applicationCheck,
  'application change': applicationChange,
  'application secret add': applicationSecretAdd,
  'application secret remove': applicationSecretRemove,
  'application delete': applicationDelete,
  'resource add': resourceAdd,
  'resource list': resourceList,
  'resource show': resourceShow,
  'resource change': resourceChange,
  'resource delete': resourceDelete,
  apply,
  export: exportConfiguration,
  'fields list': fieldsList,
  'fields types': fieldsTypes,
  'fields purge': fieldsPurge,
  'words list': wordsList,
  'sessions end': sessionsEnd,
  'limits clear': limitsClear,
  'passwords build': passwordsBuild,
  'content load': contentLoad,
  'service-key add': serviceKeyAdd,
  'service-key list': serviceKeyList,
  'keys list': keysList,
  'keys rotate': keysRotate,
  'mails list': mailsList,
  'webhooks list': webhooksList,
  'webhooks retry': webhooksRetry,
}

export const commandNames = Object.keys(commands)

const nameWidth = Math.max(...commandNames.map((name) => name.length))

/** The help lines of the commands whose names start with `beginning`. */
const summaries = (beginning = '') =>
  Object.entries(commands)
    .filter(([name]) => name.startsWith(beginning))
    .map(([name, { summary }]) => `  latchkey ${name.padEnd(nameWidth)}  ${summary}`)

const generalHelp = () => `Latchkey, a self-hosted authentication service.

${summaries().join('\n')}

latchkey COMMAND --help explains a command, latchkey help --json describes all of them, latchkey --version prints the version.
Settings are environment variables, or lines of a .env file with LATCHKEY_ before the name: see docs/configuration.md.`

const asksForHelp = (arg: string) => arg === '--help' || arg === '-h'

/** What programs and agents need to know of each command. */
const describeCommands = () => ({
  exitCodes: { 0: 'done', 1: 'refused or failed', 2: 'used wrongly', 3: 'apply --plan: something would change' },
  commands: Object.entries(commands).map(([name, { summary, help, args, options, json }]) => ({
    name,
    summary,
    arguments: args.map((each) => ({ name: each.replaceAll(/[[\]]/g, ''), required: !each.startsWith('[') })),
    options: Object.entries(options).map(([option, { type, multiple = false }]) => ({ name: option, type, multiple })),
    json: typeof json === 'string' ? json : 'inHelp' in json ? json.inHelp : null,
    help,
  })),
})

/** The command that the first arguments name. */
const findCommand = (args: readonly string[]) =>
  Object.entries(commands).find(([name]) => name.split(' ').every((word, at) => args[at] === word))

/** Answers a call for help or the version, and arguments that name no command or only the first words of several. */
const runWithoutCommand = async (args: readonly string[], { stdout, stderr }: CommandContext) => {
  const [first = ''] = args
  const words = args.filter((arg) => !arg.startsWith('-'))
  if (asksForHelp(first) || first === 'help') {
    await print(stdout, args.includes('--json') ? printableJson(describeCommands()) : generalHelp())
    return 0
  }
  if (first === '--version' || first === 'version') {
    await print(stdout, `latchkey ${programVersion()}`)
    return 0
  }
  const familySummaries = words.length > 0 ? summaries(`${words.join(' ')} `) : []
  if (familySummaries.length > 0) {
    const asksForFamilyHelp = args.some(asksForHelp)
    await print(asksForFamilyHelp ? stdout : stderr, familySummaries.join('\n'))
    return asksForFamilyHelp ? 0 : 2
  }
  const what = first.startsWith('-') ? `option ${first}` : `command "${words.join(' ')}"`
  await print(stderr, printableLines(`There is no ${what}. Try: latchkey --help`))
  return 2
}

/** Returns the exit code. A pipe that its reader has closed (`… | head`) is a normal end, unless the output cannot be shown again. */
const reportOutputFailure = async (
  { stream, isPipeClosed, cause }: OutputFailure,
  { stdout, stderr }: CommandContext,
  printsOnce: boolean,
) => {
  if (isPipeClosed && !printsOnce) return stream === stdout ? 0 : 1
  const reason = whyUnwritable(cause) ?? 'an unknown error'
  const message = `The output could not be written: ${reason}. If the command changes something, that may have been done.`
  await print(stderr, message).catch(() => undefined)
  return 1
}

/** Runs the command that the arguments name, and returns its exit code. */
export const runCommand = async (args: readonly string[], context: CommandContext): Promise<number> => {
  // `write` reports each failed write. Without a listener, the stream would throw the same error again, uncaught.
  for (const stream of [context.stdout, context.stderr]) stream.on('error', () => {})
  try {
    return await runNamedCommand(args, context)
  } catch (error) {
    if (error instanceof OutputFailure)
      return reportOutputFailure(error, context, findCommand(args)?.[1].printsOnce ?? false)
    throw error
  }
}

const runNamedCommand = async (args: readonly string[], context: CommandContext): Promise<number> => {
  const isHelp = args.some(asksForHelp)
  const found = findCommand(isHelp ? args.filter((arg) => !asksForHelp(arg)) : args)
  if (!found) return runWithoutCommand(args, context)
  const [name, command] = found
  const rest = args.slice(name.split(' ').length)
  if (isHelp) {
    await print(context.stdout, command.help)
    return 0
  }
  try {
    return await command.run(rest, context)
  } catch (error) {
    if (!(error instanceof UsageFault) && !(error instanceof OperatorError)) throw error
    const isUsage = error instanceof UsageFault
    // Messages name files, variables and things that others have chosen.
    const message = printableLines(error.message)
    await print(context.stderr, isUsage ? `${message} Try: latchkey ${name} --help` : message)
    return isUsage ? 2 : 1
  }
}
