import { CommandFailure, type CommandNouns } from '../command.js'

/** Finds an application by its name (small and large letters are the same) or by its id. */
export const requireApplication = async ({ applications }: Pick<CommandNouns, 'applications'>, text: string) => {
  const found = (await applications.findByName(text)) ?? (await applications.find(text))
  if (!found) throw new CommandFailure(`There is no application ${text}. See: latchkey application list`)
  return found
}
