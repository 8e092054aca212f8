import { isUuid } from '../../lib/uuid.js'
import { CommandFailure, type Stores } from '../command.js'

/** A user by username, email or id. */
export const findUser = async ({ users }: Pick<Stores, 'users'>, named: string) =>
  (isUuid(named.toLowerCase()) ? await users.findById(named.toLowerCase()) : undefined) ??
  (await users.findByLogin(named))

export const requireUser = async (stores: Pick<Stores, 'users'>, named: string) => {
  const user = await findUser(stores, named)
  if (!user) throw new CommandFailure(`There is no user ${JSON.stringify(named)}.`)
  return user
}
