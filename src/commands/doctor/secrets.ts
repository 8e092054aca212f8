/** Shorter secrets are not hidden: they are parts of many words, and the report would be unreadable. */
const minLength = 4

/** A password of an address, as it is written there and as it is decoded. */
const writtenAndDecoded = (password: string) => {
  try {
    return [password, decodeURIComponent(password)]
  } catch {
    return [password]
  }
}

/** The value itself, and what is secret inside it: the passwords of addresses, or each secret of a list. */
const partsOf = (value: string) => {
  const isAddress = value.includes('://')
  const passwords = [...value.matchAll(/:\/\/[^:@/]*:([^@/]*)@/g)].flatMap(([, password = '']) =>
    writtenAndDecoded(password),
  )
  return [value, ...(isAddress ? passwords : value.split(',').map((part) => part.trim()))]
}

type SecretSetting = { name: string; value: string }

/**
 * A word that may stand in any sentence of ours. To hide it there would give it away: “no [hidden]s are stored” says what the password
 * is.
 */
const isPlainWord = (secret: string) => /^\p{L}{1,11}$/u.test(secret)

/** The settings with a secret that is one plain word. */
export const plainWordsIn = (settings: readonly SecretSetting[]) =>
  settings.filter(({ value }) => partsOf(value).some(isPlainWord)).map(({ name }) => name)

/**
 * No check prints a secret. This is the safety net for a library or a server that repeats one in its message. `isOurs`: the sentence is
 * our own, in which a plain word is no secret.
 */
export const hideSecrets = (settings: readonly SecretSetting[]) => {
  const secrets = settings.flatMap(({ value }) => partsOf(value)).filter((secret) => secret.length >= minLength)
  const unmistakable = secrets.filter((secret) => !isPlainWord(secret))
  return (text: string, isOurs: boolean) =>
    (isOurs ? unmistakable : secrets).reduce((rest, secret) => rest.replaceAll(secret, '[hidden]'), text)
}
