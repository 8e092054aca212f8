/** Writes a field as in RFC 4180. It is quoted only if it must be, or if a spreadsheet could split it at semicolons or tabs. */
const csvField = (text: string) => (/[",;\t\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text)
export const csvLine = (fields: readonly string[]) => `${fields.map(csvField).join(',')}\r\n`

/**
 * A spreadsheet may run a cell that begins with one of these characters as a formula. An apostrophe in front makes the cell a text. A
 * cell that begins with apostrophes and such a character gets one more apostrophe: so the import can remove one from every guarded cell.
 */
const formula = /^'*[=+\-@\t\r]/
const guarded = /^'+[=+\-@\t\r]/

export const guardFormula = (cell: string) => (formula.test(cell) ? `'${cell}` : cell)
export const unguardFormula = (cell: string) => (guarded.test(cell) ? cell.slice(1) : cell)
