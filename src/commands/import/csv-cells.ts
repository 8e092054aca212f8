/** A field as RFC 4180 writes it: in quotes only when it must be, or when a spreadsheet may split at semicolons or tabs. */
const csvField = (text: string) => (/[",;\t\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text)
export const csvLine = (fields: readonly string[]) => `${fields.map(csvField).join(',')}\r\n`

/**
 * A spreadsheet reads a cell that begins with one of these characters as a formula and may run it. An apostrophe in front
 * makes it text. Cells that already begin with apostrophes and such a character get one too, so that the import can remove it.
 */
const formula = /^'*[=+\-@\t\r]/
const guarded = /^'+[=+\-@\t\r]/

export const guardFormula = (cell: string) => (formula.test(cell) ? `'${cell}` : cell)
export const unguardFormula = (cell: string) => (guarded.test(cell) ? cell.slice(1) : cell)
