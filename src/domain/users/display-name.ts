const longest = 200

/**
 * A name that is safe to show: one line, without control characters, escape sequences or invisible characters that change
 * the text direction, and of limited length. Null if nothing is left.
 */
export const displayName = (name: unknown): string | null => {
  if (typeof name !== 'string') return null
  const shown = name.toWellFormed().replaceAll(/\s+/g, ' ').replaceAll(/\p{C}/gu, '').trim()
  // Invisible letters alone, such as the Hangul filler, are no name.
  if (/^\p{Default_Ignorable_Code_Point}*$/u.test(shown)) return null
  return Array.from(shown).slice(0, longest).join('').trim() || null
}
