/**
 * A spreadsheet takes a cell that begins with one of these for a formula and may run it. An apostrophe before it makes it
 * text. Cells that already begin with apostrophes and such a character get one too, so that the import can take it off again.
 */
const formula = /^'*[=+\-@\t\r]/
const guarded = /^'+[=+\-@\t\r]/

export const guardFormula = (cell: string) => (formula.test(cell) ? `'${cell}` : cell)
export const unguardFormula = (cell: string) => (guarded.test(cell) ? cell.slice(1) : cell)
