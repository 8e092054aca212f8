/** The fault of a record of more characters than this, and what to do about it. */
export const tooLong = (most: number) => `has more than ${most.toLocaleString('en')} characters: shorten or remove it`
