import { quoted } from './quoted.js'

const maxNamed = 3

/** Only for operators: it says which addresses are registered. */
export const unregisteredSentence = (parameter: string, sent: string, registered: readonly string[]) => {
  const named = registered.slice(0, maxNamed).map(quoted).join(', ')
  if (registered.length === 0) return `${parameter} ${quoted(sent)} is not registered, and no other is`
  return `${parameter} ${quoted(sent)} is not registered, ${named} ${registered.length === 1 ? 'is' : 'are'}`
}
