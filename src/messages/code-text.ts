import { createHmac } from 'node:crypto'
import { inGroups, withoutGroups } from '../contract/factors.js'
import { equalInConstantTime } from '../lib/random.js'

/** The alphabet of codes, without letters and digits that look alike. */
const letters = 'ABCDEFGHJKMNPQRSTUVWXYZ23456789'
const bytesPerLetter = 4

const codeWith = (key: Buffer, id: string) => {
  const digest = createHmac('sha256', key).update(id).digest()
  const starts = Array.from({ length: digest.length / bytesPerLetter }, (_, index) => index * bytesPerLetter)
  return starts.map((start) => letters[digest.readUInt32BE(start) % letters.length]).join('')
}

/**
 * Short codes for mails. They are computed from the id of a row with the first of our keys, so every mail about the row has the same code,
 * and the database does not have it.
 */
export const createCodeText = (keys: readonly Buffer[]) => ({
  /** The code as mails show it, in groups. */
  codeOf: (id: string) => {
    const [newestKey] = keys
    if (!newestKey) throw new Error('There is no key to make codes with')
    return inGroups(codeWith(newestKey, id))
  },
  isCodeOf: (id: string, typedCode: string) => {
    const givenCode = Buffer.from(withoutGroups(typedCode))
    return keys.some((key) => equalInConstantTime(Buffer.from(codeWith(key, id)), givenCode))
  },
})
