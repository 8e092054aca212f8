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

/** No check prints a secret. This is the safety net for a library or a server that repeats one in its message. */
export const hideSecrets = (values: readonly string[]) => {
  const secrets = values.flatMap(partsOf).filter((secret) => secret.length >= minLength)
  return (text: string) => secrets.reduce((rest, secret) => rest.replaceAll(secret, '[hidden]'), text)
}
