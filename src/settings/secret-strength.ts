const placeholders = /secret|password|change|example|your|replace|sample|default|latchkey|qwerty|0123456789|abcdefgh/gi

const minLength = 64

/**
 * Whether the value is several generated secrets with a semicolon or white space between them instead of a comma. They would be used
 * as one long secret, and tokens signed with one of them would be refused. A secret of words with spaces is still allowed.
 */
const isSeveralInOne = (secret: string) => {
  const parts = secret.split(/[;\s]+/).filter((part) => part !== '')
  return parts.length > 1 && parts.every((part) => part.length >= minLength && /^[\w+/=-]+$/.test(part))
}

/** Why a signing secret must not be used, or undefined. */
export const weaknessOfSecret = (secret: string) => {
  if (secret.length < minLength) return `must have at least ${minLength} characters`
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
