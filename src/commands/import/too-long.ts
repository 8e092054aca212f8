/** The fault of a record that has more than `maxLength` characters. */
export const tooLong = (maxLength: number) =>
  `has more than ${maxLength.toLocaleString('en')} characters: shorten or remove it`
