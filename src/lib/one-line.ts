/** Whether a text can stand in one line of a file or a terminal: well-formed, and without control characters. */
export const isOneLine = (text: string) => text.isWellFormed() && !/\p{Cc}/u.test(text)
