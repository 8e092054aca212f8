import { createHmac } from 'node:crypto'
import { loginKey } from '../users/users.js'

/** What the key is derived for, from the signing secret. */
export const nameMarksPurpose = 'names in events'

export type NameMarks = ReturnType<typeof createNameMarks>

/**
 * What is kept of a typed name that belongs to no account. People type passwords into the name field, so the name itself
 * must not be stored. A short keyed hash shows whether two attempts used the same name, in any spelling that is one name for
 * a sign-in, and lets an operator who knows the name find them.
 */
export const createNameMarks = (keys: readonly Buffer[]) => {
  const markWith = (key: Buffer, name: string) =>
    createHmac('sha256', key).update(loginKey(name)).digest('hex').slice(0, 12)
  return {
    of: (name: string) => (keys[0] ? markWith(keys[0], name) : undefined),
    /** With every secret that is still configured, for a search. */
    all: (name: string) => keys.map((key) => markWith(key, name)),
  }
}
