/** Characters that JSON does not have to escape, but that a terminal or an editor would obey or hide. */
export const unprintable = /[\p{C}\u2028\u2029]/gu

const escapeCharacter = (character: string) =>
  Array.from(
    { length: character.length },
    (_, index) => `\\u${character.charCodeAt(index).toString(16).padStart(4, '0')}`,
  ).join('')

/** JSON for a terminal: every control character and invisible mark is written as an escape. */
export const printableJson = (value: unknown) => JSON.stringify(value).replaceAll(unprintable, escapeCharacter)

/** A text in one line, with the same escapes. */
export const printableText = (text: string) => text.replaceAll(unprintable, escapeCharacter)
