import { createHmac } from 'node:crypto'
import { loginKey } from './users.js'

export type NameMarks = ReturnType<typeof createNameMarks>

/**
 * A mark that is kept and counted instead of a typed name. People type passwords into the name field, so the name itself must not be
 * stored. A short keyed hash shows whether two attempts used the same name, in any spelling that is one name for a sign-in, and lets an
 * operator who knows the name find them.
 */
export const createNameMarks = (keys: readonly Buffer[]) => {
  const markWith = (key: Buffer, name: string) =>
    createHmac('sha256', key).update(loginKey(name)).digest('hex').slice(0, 12)
  return {
    of: (name: string) => (keys[0] ? markWith(keys[0], name) : undefined),
    /** The marks with every secret that is still configured, for a search. */
    all: (name: string) => keys.map((key) => markWith(key, name)),
  }
}
