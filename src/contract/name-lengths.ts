/** The longest name of a user that is shown, in characters: for the API, pages, commands and imports alike. */
export const longestName = 200

export const longestPasskeyName = 64

export const longestTokenName = 64
