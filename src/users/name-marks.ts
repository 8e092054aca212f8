import { createHmac } from 'node:crypto'
import { loginKey } from './users.js'

export type NameMarks = ReturnType<typeof createNameMarks>

/**
 * A mark that is kept and counted instead of a typed name. People type passwords into the name field, so the name itself must not be
 * stored. A mark is a short keyed hash. Spellings that the sign-in takes for the same name have the same mark. So marks show whether two
 * attempts used the same name, and an operator who knows the name can find its attempts.
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
