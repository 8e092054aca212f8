/** A name that a header, a claim and a query can hold without encoding. */
export const groupPattern = '^[a-z0-9][a-z0-9._-]{0,31}$'

/** A user can be in at most so many groups, and a condition can name at most so many. */
export const maxGroups = 16

const groupName = new RegExp(groupPattern)

export const isGroupName = (value: unknown): value is string => typeof value === 'string' && groupName.test(value)

/** The groups of a token or of a condition. */
export const isGroupList = (value: unknown): value is readonly string[] =>
  Array.isArray(value) && value.length <= maxGroups && value.every(isGroupName)

/** The groups in a text with commas; undefined if a part of it is no name of a group, or if there are too many. */
export const readGroupList = (text: string) => {
  const names = text.split(',')
  return isGroupList(names) ? names : undefined
}
