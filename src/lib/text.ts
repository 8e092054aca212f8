/** A number with the word that fits it: `1 user`, `2 users`, `12,000 users`. */
export const countText = (count: number, one: string, many = `${one}s`) =>
  `${count.toLocaleString('en')} ${count === 1 ? one : many}`

/** Names of applications and resources with the same key are the same name: in small or large letters, in whichever form of Unicode. */
export const nameKey = (name: string) => name.normalize('NFKC').toLowerCase()

/** Whether a text can stand in one line of a file or a terminal: well-formed, and without control characters. */
export const isOneLine = (text: string) => text.isWellFormed() && !/\p{Cc}/u.test(text)

const entities: Record<string, string> = { '&': '&amp;', '<': '&lt;', '>': '&gt;', '"': '&quot;', "'": '&#39;' }

/** Escapes text that is written between tags or into quoted attributes. */
export const escapeHtml = (text: string) => text.replace(/[&<>"']/g, (character) => entities[character] ?? character)

/** The names of the placeholders in a text: `name` in `Hello, {name}`. */
export const placeholdersIn = (text: string) => new Set([...text.matchAll(/\{(\w+)\}/g)].map(([, name = '']) => name))

/** Puts values into the placeholders of a text, once: a value that looks like a placeholder stays as it is. */
export const fillPlaceholders = (text: string, values: Readonly<Record<string, unknown>>) =>
  text.replaceAll(/\{(\w+)\}/g, (placeholder, name: string) =>
    values[name] === undefined ? placeholder : String(values[name]),
  )

/** Characters that JSON does not escape and a terminal may obey: DEL, the 8-bit controls, and two line separators. */
const controls = /[\u007f-\u009f\u2028\u2029]/g
const escapeCharacter = (character: string) => `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`

/** Escapes characters in JSON that could move the cursor or start a new line. */
export const escapeTerminalControls = (json: string) => json.replaceAll(controls, escapeCharacter)
