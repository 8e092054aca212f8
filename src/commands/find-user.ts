import { isRefused, type Refused } from '../contract/outcome.js'
import { CommandFailure, type CommandNouns } from './command.js'

/** The user with this username, email or id. Throws if it is the id of one user and the username of another, who chose it. */
export const findUser = async ({ users }: Pick<CommandNouns, 'users'>, userName: string) => {
  const user = await users.findNamed(userName)
  const namesake = user && (await users.findByLogin(userName))
  if (namesake && namesake.id !== user.id)
    throw new CommandFailure(
      `${userName} is the id of ${user.username}, and ${namesake.email} has chosen it as username: name the user by email.`,
    )
  return user
}

export const requireUser = async (nouns: Pick<CommandNouns, 'users'>, userName: string) => {
  const user = await findUser(nouns, userName)
  if (!user) throw new CommandFailure(`There is no user ${JSON.stringify(userName)}.`)
  return user
}

/** Returns the outcome of a change, or throws if the user was deleted after the command had found them. */
export const throwIfDeleted = <Outcome>(outcome: Outcome, username: string) => {
  if (isRefused(outcome) && outcome.refused === 'no_user')
    throw new CommandFailure(`${username} was deleted in the meantime.`)
  return outcome as Exclude<Outcome, Refused<'no_user'>>
}
