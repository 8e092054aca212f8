import type { AmrMethod } from '../../contract/factors.js'

/**
 * Our proofs in the words of RFC 8176. A recovery code counts as a password that works once. We do not know where a passkey keeps its key,
 * only that its user was present. The RFC has no word for another provider or for mail.
 */
const words: Readonly<Record<AmrMethod, string | undefined>> = {
  pwd: 'pwd',
  otp: 'otp',
  rec: 'otp',
  passkey: 'user',
  provider: undefined,
  mail: undefined,
}

const wordOf = (method: string) => (Object.hasOwn(words, method) ? words[method as AmrMethod] : undefined)

/** The claim `amr`. Empty if the RFC has no word for any of the methods. */
export const authenticationMethods = (methods: readonly string[], secondFactor: boolean) => {
  const knownWords = methods.map(wordOf).filter((word) => word !== undefined)
  return [...new Set([...knownWords, ...(secondFactor ? ['mfa'] : [])])]
}
