import type { Method } from '../../contract/factors.js'

/**
 * Our proofs in the words of RFC 8176. A recovery code is a password that works once. Where a passkey keeps its key is not known, only
 * that its user was there. The list has no word for another provider or for mail.
 */
const words: Readonly<Record<Method, string | undefined>> = {
  pwd: 'pwd',
  otp: 'otp',
  rec: 'otp',
  passkey: 'user',
  provider: undefined,
  mail: undefined,
}

const wordOf = (method: string) => (Object.hasOwn(words, method) ? words[method as Method] : undefined)

/** The claim `amr`; empty if there is nothing to say. */
export const authenticationMethods = (methods: readonly string[], secondFactor: boolean) => {
  const known = methods.map(wordOf).filter((word) => word !== undefined)
  return [...new Set([...known, ...(secondFactor ? ['mfa'] : [])])]
}
