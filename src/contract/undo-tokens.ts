/** An undo link takes back a change of the email, or any other change: a new factor, a new username and so on (`factor`). */
export type UndoLinkKind = 'factor' | 'email'

/** The token begins with the kind of its link, so that the page of the link knows which call to make. */
export const undoTokenFor = (linkKind: UndoLinkKind, random: string) => `${linkKind}-${random}`

export const isUndoOfEmail = (token: string) => token.startsWith('email-')
