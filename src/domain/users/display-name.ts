const longest = 200

/**
 * A name to show to people, wherever it comes from: one line, without control characters, escape sequences or invisible marks
 * that turn text around, cut to a size that fits every page and every row. Nothing when nothing is left.
 */
export const displayName = (name: unknown): string | null => {
  if (typeof name !== 'string') return null
  const shown = name.toWellFormed().replaceAll(/\s+/g, ' ').replaceAll(/\p{C}/gu, '').trim()
  // Letters that are drawn as nothing, such as the Hangul filler, make no name by themselves.
  if (/^\p{Default_Ignorable_Code_Point}*$/u.test(shown)) return null
  return Array.from(shown).slice(0, longest).join('').trim() || null
}
