import { isRefused, type Refused } from '../../contract/outcome.js'
import { CommandFailure, type Stores } from '../command.js'

export const requireUser = async ({ users }: Pick<Stores, 'users'>, named: string) => {
  const user = await users.findNamed(named)
  if (!user) throw new CommandFailure(`There is no user ${JSON.stringify(named)}.`)
  return user
}

/** The outcome of a change; another command may have deleted the user since it was found. */
export const unlessDeleted = <Outcome>(outcome: Outcome, username: string) => {
  if (isRefused(outcome) && outcome.refused === 'no_user')
    throw new CommandFailure(`${username} was deleted in the meantime.`)
  return outcome as Exclude<Outcome, Refused<'no_user'>>
}
