/** An undo link takes back something that was added to the account, or a change of its email. */
export type UndoOf = 'factor' | 'email'

/** The token says which of the two it is, so that the page of the link knows which call to make. */
export const undoTokenFor = (of: UndoOf, random: string) => `${of}-${random}`

export const isUndoOfEmail = (token: string) => token.startsWith('email-')
