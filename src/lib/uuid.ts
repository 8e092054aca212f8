import { randomBytes } from 'node:crypto'

/** Matches only the form that we write. Other programs may write the same id with capitals, `urn:uuid:` or braces. */
export const uuidPattern = '^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$'
const shape = new RegExp(uuidPattern)

export const isUuid = (value: string) => shape.test(value)

/** The smallest of all ids. */
export const nilUuid = '00000000-0000-0000-0000-000000000000'

/** An id has 48 bits for the milliseconds since 1970. */
const latestTime = 2 ** 48 - 1

/** The smallest id that can be made at this moment. Moments before 1970 have the id of 1970, because no id is older. */
export const uuidFloor = (moment: Date) => {
  const time = Math.min(Math.max(moment.getTime(), 0), latestTime)
  const hex = time.toString(16).padStart(12, '0')
  return `${hex.slice(0, 8)}-${hex.slice(8)}-7000-8000-000000000000`
}

/** An id of RFC 9562, version 7. These ids are ordered by time, so new rows go to the end of an index, and a purge can read it in order. */
export const uuidv7 = (now: Date) => {
  const bytes = randomBytes(16)
  bytes.writeUIntBE(now.getTime(), 0, 6)
  bytes[6] = 0x70 | ((bytes[6] ?? 0) & 0x0f)
  bytes[8] = 0x80 | ((bytes[8] ?? 0) & 0x3f)
  const hex = bytes.toString('hex')
  return [hex.slice(0, 8), hex.slice(8, 12), hex.slice(12, 16), hex.slice(16, 20), hex.slice(20)].join('-')
}
