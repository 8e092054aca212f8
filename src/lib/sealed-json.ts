import type { Static, TSchema } from 'typebox'
import { Check } from 'typebox/schema'
import type { Seal } from './seal.js'

const parse = (text: string): unknown => {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}

/**
 * Values that are stored outside of the program as sealed JSON, such as cookies. The seal proves that we wrote them, but another
 * release may have written another shape. A value that does not match the schema opens as undefined.
 */
export const createSealedJson = <Schema extends TSchema>(seal: Seal, schema: Schema) => ({
  seal: (value: Static<Schema>) => seal.seal(JSON.stringify(value)),
  open: (sealed: string): Static<Schema> | undefined => {
    const text = seal.open(sealed)
    const value = text === undefined ? undefined : parse(text)
    return Check(schema, value) ? value : undefined
  },
})
