const placeholders = /secret|password|change|example|your|replace|sample|default|latchkey|qwerty|0123456789|abcdefgh/gi

const shortest = 64

/**
 * Two secrets of a usual generator with something else than a comma between them: nothing would be signed or verified with
 * either of them. A secret of words with spaces, or of all kinds of characters, stays allowed.
 */
const isSeveralInOne = (secret: string) => {
  const parts = secret.split(/[;\s]+/).filter((part) => part !== '')
  return parts.length > 1 && parts.every((part) => part.length >= shortest && /^[\w+/=-]+$/.test(part))
}

/** Why a signing secret must not be used, or undefined. A good one comes from a random generator. */
export const weaknessOfSecret = (secret: string) => {
  if (secret.length < shortest) return `must have at least ${shortest} characters`
  if (isSeveralInOne(secret)) return 'must have a comma between secrets, and not a semicolon, a space or a line break'
  const rest = secret.replaceAll(placeholders, '')
  const repeatsItself = [2, 3, 4, 5, 6, 8].some((parts) =>
    secret
      .slice(0, Math.floor(secret.length / parts))
      .repeat(parts + 1)
      .startsWith(secret),
  )
  if (rest.length < 40 || repeatsItself || new Set(rest).size < 12)
    return 'must be random: make one with `openssl rand -hex 48`'
  return undefined
}
