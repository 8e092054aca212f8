import { undoLifetime } from '../../account-changes/undos.js'
import { isLanguage, type Language, languages } from '../../contract/languages.js'
import { longestName } from '../../contract/name-lengths.js'
import { isRefused } from '../../contract/outcome.js'
import { days } from '../../lib/durations.js'
import { isOneLine } from '../../lib/text.js'
import { displayName, readUsername } from '../../users/names.js'
import { CommandFailure, command, emailFrom, inputFault, UsageFault } from '../command.js'
import { readPassword } from '../terminal/password-prompt.js'

/** The codes as they stand in a help text: `en|de|…`. */
export const languageCodes = languages.join('|')

export const readLanguage = (text: string): Language => {
  if (!isLanguage(text)) throw new UsageFault(`--language takes one of ${languages.join(', ')}.`)
  return text
}

const refusalSentences = {
  email_taken: `The email already has an account, or is kept for a user who had it in the last ${undoLifetime / days} days.`,
  username_taken: 'The username is taken.',
} as const

const nameFrom = (text: string | undefined) => {
  if (text !== undefined && (!isOneLine(text) || Array.from(text).length > longestName))
    throw new CommandFailure(`The name must be one line of at most ${longestName} characters.`)
  return displayName(text)
}

export const userAdd = command({
  summary: 'Add a user with a password',
  help: `latchkey user add --email EMAIL --username NAME [--name DISPLAY_NAME] [--language ${languageCodes}]
                  [--password-stdin] [--json]

Adds a user who can sign in at once, without confirming the email. Applications are told that the email is not proven
(email_verified) until, for example, a password reset by mail has proven it. REGISTRATION and REGISTRATION_DOMAINS do not matter
here. The command asks for the password without showing it. The rules are the same as in a registration.

  --email EMAIL       the address, required
  --username NAME     the name to sign in with, required
  --name DISPLAY_NAME the name to show
  --language CODE     the language of mails about the account, by default that of the first sign-in
  --password-stdin    read the password from standard input instead of asking`,
  json: '{"id": …, "username": …}',
  options: {
    email: { type: 'string' },
    username: { type: 'string' },
    name: { type: 'string' },
    language: { type: 'string' },
    'password-stdin': { type: 'boolean' },
  },
  read: async ({ values, context }) => {
    if (!values.email || !values.username) throw new UsageFault('--email and --username are needed.')
    const email = emailFrom(values.email)
    const username = readUsername(values.username)
    if (isRefused(username)) throw inputFault(username)
    const name = nameFrom(values.name)
    const language = values.language === undefined ? undefined : readLanguage(values.language)
    return { email, username, name, language, password: await readPassword(context, values['password-stdin'] ?? false) }
  },
  run: async ({ database, newUsers, passwords, events }, { email, username, name, language, password, operator }) => {
    const faults = await passwords.faults(password, { username: username.username, email: email.email, name })
    if (faults.length > 0) throw new CommandFailure(faults.join('\n'))
    const passwordHash = await passwords.hash(password)
    const person = { email, username, name, passwordHash, language }
    const user = await database.transaction((sql) => newUsers.create(sql, person))
    if (isRefused(user)) throw new CommandFailure(refusalSentences[user.refused])
    await events.record({ kind: 'user_added', userId: user.id }, operator)
    return { json: { id: user.id, username: user.username }, text: `Added ${user.username} (${user.id}).` }
  },
})
