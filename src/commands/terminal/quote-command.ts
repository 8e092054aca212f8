import { printableText } from './printable-json.js'

/** Users choose their names, so a name that an operator copies into a shell must not become a command. In zsh even `=ls` is a path. */
const quote = (text: string) =>
  /^[\w@%+:,./-]+$/.test(text) ? text : printableText(`'${text.replaceAll("'", `'\\''`)}'`)

/** A command to copy, with the name or the address of a user: `latchkey user enable ada`. */
export const quoteCommand = (command: string, name: string) =>
  `latchkey ${command} ${name.startsWith('-') ? '-- ' : ''}${quote(name)}`

/** A command to copy, with the value of an option: `latchkey limits clear --user ada`. */
export const quoteCommandWith = (command: string, option: string, value: string) =>
  `latchkey ${command} ${option}${value.startsWith('-') ? '=' : ' '}${quote(value)}`
