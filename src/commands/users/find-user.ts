import { isRefused, type Refused } from '../../contract/outcome.js'
import { CommandFailure, type CommandNouns } from '../command.js'

export const requireUser = async ({ users }: Pick<CommandNouns, 'users'>, userName: string) => {
  const user = await users.findNamed(userName)
  if (!user) throw new CommandFailure(`There is no user ${JSON.stringify(userName)}.`)
  return user
}

/** The outcome of a change. It throws if the user was deleted after they were found. */
export const throwIfDeleted = <Outcome>(outcome: Outcome, username: string) => {
  if (isRefused(outcome) && outcome.refused === 'no_user')
    throw new CommandFailure(`${username} was deleted in the meantime.`)
  return outcome as Exclude<Outcome, Refused<'no_user'>>
}
