/** The fault of a record of more characters than this, and what to do about it. */
export const tooLong = (maxLength: number) =>
  `has more than ${maxLength.toLocaleString('en')} characters: shorten or remove it`
