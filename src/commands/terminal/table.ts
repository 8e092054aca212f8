import { printableText } from './printable-json.js'

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
