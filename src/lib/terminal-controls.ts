/** Characters that JSON does not escape and a terminal may obey: DEL, the 8-bit controls, and two line separators. */
const controls = /[\u007f-\u009f\u2028\u2029]/g
const escapeCharacter = (character: string) => `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`

/** Escapes characters in JSON that could move the cursor or start a new line. */
export const escapeTerminalControls = (json: string) => json.replaceAll(controls, escapeCharacter)
