import { printableText } from './printable-json.js'

/** Users choose names at registration: a name that an operator copies into a shell must stay a name. In zsh `=ls` is a path. */
const quote = (text: string) =>
  /^[\w@%+:,./-]+$/.test(text) ? text : printableText(`'${text.replaceAll("'", `'\\''`)}'`)

/** A command to copy, with the name or the address of a user: `latchkey user enable ada`. */
export const quoteCommand = (command: string, name: string) =>
  `latchkey ${command} ${name.startsWith('-') ? '-- ' : ''}${quote(name)}`

/** The same with an option: `latchkey limits clear --user ada`. */
export const quoteCommandWith = (command: string, option: string, value: string) =>
  `latchkey ${command} ${option}${value.startsWith('-') ? '=' : ' '}${quote(value)}`
