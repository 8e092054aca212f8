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

/** The same for a text of several lines. */
export const printableLines = (text: string) => text.split('\n').map(printableText).join('\n')

type ListForms<Item> = {
  /** Without it, a line of --json is the item itself. */
  asJson?: (item: Item) => object
  asTable: (items: readonly Item[]) => string
  /** The sentence for an empty list. */
  none: string
}

/** The output of a command that lists: one JSON object on each line, or a table. */
export const listOf = <Item extends object>(
  items: readonly Item[],
  { asJson = (item) => item, asTable, none }: ListForms<Item>,
) => ({ lines: items.map(asJson), text: items.length > 0 ? asTable(items) : none })

/**
 * Each column is as wide as its widest cell, and the first row is the heading. Users choose many of the texts, so characters that a
 * terminal would obey or hide are written as escapes.
 */
export const asTable = (cells: readonly (readonly string[])[]) => {
  const rows = cells.map((row) => row.map(printableText))
  const widths = (rows[0] ?? []).map((_, column) => Math.max(...rows.map((row) => row[column]?.length ?? 0)))
  const line = (row: readonly string[]) => row.map((cell, column) => cell.padEnd(widths[column] ?? 0)).join('  ')
  return rows.map((row) => line(row).trimEnd()).join('\n')
}

/** Users choose their names, so a name that an operator copies into a shell must not become a command. In zsh even `=ls` is a path. */
const quote = (text: string) =>
  /^[\w@%+:,./-]+$/.test(text) ? text : printableText(`'${text.replaceAll("'", `'\\''`)}'`)

/** A command to copy, with the name or the address of a user: `latchkey user enable ada`. */
export const quoteCommand = (command: string, name: string) =>
  `latchkey ${command} ${name.startsWith('-') ? '-- ' : ''}${quote(name)}`

/** A command to copy, with the value of an option: `latchkey limits clear --user ada`. */
export const quoteCommandWith = (command: string, option: string, value: string) =>
  `latchkey ${command} ${option}${value.startsWith('-') ? '=' : ' '}${quote(value)}`

/** No line of a help is longer, so that it is readable in a terminal. */
const helpWidth = 130

/** The text in lines that all begin in this column. The first one stands behind what is there already. */
export const inColumn = (text: string, column: number) => {
  const lines = ['']
  for (const word of text.split(' ')) {
    const last = lines.at(-1) ?? ''
    if (last !== '' && column + last.length + 1 + word.length > helpWidth) lines.push(word)
    else lines[lines.length - 1] = last === '' ? word : `${last} ${word}`
  }
  return lines.join(`\n${' '.repeat(column)}`)
}
