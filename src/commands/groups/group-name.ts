import { isGroupName } from '../../contract/groups.js'
import { UsageFault } from '../command.js'

export const groupNameFrom = (text: string) => {
  if (!isGroupName(text))
    throw new UsageFault(
      'A group has 1 to 32 characters: small letters, digits, dots, underscores and hyphens, with a letter or a digit first.',
    )
  return text
}
