const placeholders = /secret|password|change|example|your|replace|sample|default|latchkey|qwerty|0123456789|abcdefgh/gi

/** Why a signing secret must not be used, or undefined. A good one comes from a random generator. */
export const weaknessOfSecret = (secret: string) => {
  if (secret.length < 64) return 'must have at least 64 characters'
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
