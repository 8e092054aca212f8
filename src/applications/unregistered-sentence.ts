import { quoted } from './quoted.js'

const maxShown = 3

/** A sentence for operators only, because it says which addresses are registered. */
export const unregisteredSentence = (parameter: string, address: string, registered: readonly string[]) => {
  const firstAddresses = registered.slice(0, maxShown).map(quoted).join(', ')
  if (registered.length === 0) return `${parameter} ${quoted(address)} is not registered, and no other is`
  return `${parameter} ${quoted(address)} is not registered, ${firstAddresses} ${registered.length === 1 ? 'is' : 'are'}`
}
