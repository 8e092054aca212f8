import { CommandFailure, type Stores } from './command.js'

const uuid = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i

/** A user as an operator names them: by username, email or id. */
export const whom = async ({ users }: Pick<Stores, 'users'>, named: string) => {
  const user =
    (uuid.test(named) ? await users.findById(named.toLowerCase()) : undefined) ?? (await users.findByLogin(named))
  if (!user) throw new CommandFailure(`There is no user ${JSON.stringify(named)}.`)
  return user
}
