/** Providers of mailboxes that many people use, by the name before the dot, with the endings that they have. */
const mailboxes: Readonly<Record<string, readonly string[]>> = {
  gmail: ['com'],
  googlemail: ['com'],
  hotmail: ['com', 'de', 'fr', 'es', 'it', 'co.uk'],
  outlook: ['com', 'de', 'fr', 'es', 'it'],
  yahoo: ['com', 'de', 'fr', 'es', 'it', 'co.uk'],
  icloud: ['com'],
  posteo: ['de', 'net', 'org'],
  mailbox: ['org'],
  freenet: ['de'],
  't-online': ['de'],
  orange: ['fr', 'es'],
  laposte: ['net'],
  telefonica: ['net'],
  protonmail: ['com'],
}

/** Domains that look like a slip and are none: other people have their mailboxes there. */
const realDomains = new Set(['mail.com', 'email.com', 'ymail.com', 'rocketmail.com'])

/** Endings that do not exist, and what was meant. */
const meantEndings: Readonly<Record<string, string>> = {
  con: 'com',
  cmo: 'com',
  ocm: 'com',
  vom: 'com',
  xom: 'com',
  cpm: 'com',
  cim: 'com',
  comm: 'com',
  coom: 'com',
  nte: 'net',
  nett: 'net',
  ogr: 'org',
  orgg: 'org',
}

/** Whether one slip turns `meant` into `typed`: a letter too many, too few or wrong, or two letters in the wrong order. */
const isOneSlipAway = (typed: string, meant: string) => {
  if (typed === meant || Math.abs(typed.length - meant.length) > 1) return false
  let index = 0
  while (typed[index] === meant[index]) index += 1
  const rest = { typed: typed.slice(index), meant: meant.slice(index) }
  return (
    rest.typed.slice(1) === rest.meant ||
    rest.typed === rest.meant.slice(1) ||
    rest.typed.slice(1) === rest.meant.slice(1) ||
    (rest.typed[0] === rest.meant[1] && rest.typed[1] === rest.meant[0] && rest.typed.slice(2) === rest.meant.slice(2))
  )
}

/** The domain that was meant; undefined if the domain does not look wrong. */
const meantDomain = (domain: string) => {
  const dot = domain.indexOf('.')
  if (dot < 1 || realDomains.has(domain)) return undefined
  const name = domain.slice(0, dot)
  const ending = domain.slice(dot + 1)
  const lastDot = domain.lastIndexOf('.')
  const lastEnding = domain.slice(lastDot + 1)
  const withMeantEnding = Object.hasOwn(meantEndings, lastEnding)
    ? `${domain.slice(0, lastDot)}.${meantEndings[lastEnding]}`
    : undefined
  const knownEndings = Object.hasOwn(mailboxes, name) ? mailboxes[name] : undefined
  if (knownEndings?.includes(ending)) return undefined
  const meantEnding = knownEndings?.find((each) => isOneSlipAway(ending, each))
  if (meantEnding !== undefined) return `${name}.${meantEnding}`
  const similar = Object.entries(mailboxes).find(
    ([mailboxName, mailboxEndings]) =>
      isOneSlipAway(name, mailboxName) &&
      mailboxEndings.some((mailboxEnding) => mailboxEnding === ending || meantEndings[ending] === mailboxEnding),
  )
  return similar ? `${similar[0]}.${meantEndings[ending] ?? ending}` : withMeantEnding
}

/**
 * The address that was probably meant, for a typical slip such as `gmial.com` or `.con`. The page only suggests it, because such a
 * domain may exist.
 */
export const meantAddress = (typed: string): string | undefined => {
  const address = typed.trim()
  const at = address.lastIndexOf('@')
  const domain = meantDomain(address.slice(at + 1).toLowerCase())
  return at < 1 || domain === undefined ? undefined : `${address.slice(0, at)}@${domain}`
}
