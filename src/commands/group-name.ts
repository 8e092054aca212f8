import { isGroupName } from '../contract/names.js'
import { CommandFailure, type CommandNouns, UsageFault } from './command.js'

export const groupNameFrom = (text: string) => {
  if (!isGroupName(text))
    throw new UsageFault(
      'A group has 1 to 32 characters: small letters, digits, dots, underscores and hyphens, with a letter or a digit first.',
    )
  return text
}

/** Fails if one of the groups does not exist, for example after a typing error. */
export const requireGroups = async ({ database, groups }: CommandNouns, names: readonly string[]) => {
  const existing = await database.transaction((sql) => groups.hold(sql, names))
  const unknown = names.find((name) => !existing.includes(name))
  if (unknown !== undefined)
    throw new CommandFailure(`There is no group ${unknown}. \`latchkey group list\` names all groups.`)
}
