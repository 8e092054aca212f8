import { minutes } from '../lib/durations.js'
import { nilUuid } from '../lib/uuid.js'
import type { NewEntries } from './ended-sessions.store.js'

/** Access tokens of the session with a lower `gen` are refused. Null refuses all of them. */
export type EndedSession = { sid: string; minGeneration: number | null }

/** Access tokens of the user that were issued before this second are refused, whatever session they are of. */
export type EndedUser = { userId: string; before: number }

/** In the place of a user: the entry is about the tokens of all users. A restore writes it. */
export const everyUser = nilUuid

/** The end of a session, or of all sessions of a user. */
export type Ended = EndedSession | EndedUser

/**
 * In memory both are alike: an id, and a number. A token is refused if its `gen` is lower than the number of its session, or its `iat` lower
 * than that of its user. Both fit into 32 bits, and no session has the id of a user.
 */
export const asEntry = (ended: Ended): EndedSession =>
  'userId' in ended ? { sid: ended.userId, minGeneration: ended.before } : ended

/** An entry of the database. */
export const endOf = ([id, minGeneration, before]: NewEntries['entries'][number]): Ended =>
  before === null ? { sid: id, minGeneration } : { userId: id, before }

/** A number that is higher than the generation of any token. */
const everyGeneration = 2 ** 32 - 1

/**
 * How long an entry is kept after it was added. An access token is valid for 15 minutes, and for 20 if the clock of the
 * instance that signed it is 5 minutes ahead.
 */
export const retention = 20 * minutes

/** Entries are forgotten a slice at a time, so that nothing is searched or moved. */
const sliceLength = 5 * minutes

// A slot has the four words of a session id, and then `minGeneration`, which is 0 in a free slot.
const slotWords = 5
const minGenerationAt = 4
const firstSlots = 1_024
const maxFilled = 0.75
const growth = 1.5

/** The filter has a bit for each value of the first 23 bits of a word. */
const filterBytes = 2 ** 23 / 8

const digits = new Uint8Array(128)
for (const [value, digit] of [...'0123456789abcdef'].entries()) digits[digit.charCodeAt(0)] = value

/** One buffer for the keys of all ids. A key is read before the next one is written. */
const key = new Uint32Array(4)

const fourDigits = (text: string, at: number) =>
  (digitAt(text, at) << 12) | (digitAt(text, at + 1) << 8) | (digitAt(text, at + 2) << 4) | digitAt(text, at + 3)

const digitAt = (text: string, at: number) => digits[text.charCodeAt(at)] ?? 0

const lastWord = (sid: string) => (fourDigits(sid, 28) << 16) | fourDigits(sid, 32)

/** Writes the id into `key` as four numbers. A loop over its digits would take half as long again, at every access check. */
const readKey = (sid: string) => {
  key[0] = (fourDigits(sid, 0) << 16) | fourDigits(sid, 4)
  key[1] = (fourDigits(sid, 9) << 16) | fourDigits(sid, 14)
  key[2] = (fourDigits(sid, 19) << 16) | fourDigits(sid, 24)
  key[3] = lastWord(sid)
}

const copyWords = (from: Uint32Array, fromAt: number, to: Uint32Array, toAt: number) => {
  for (let word = 0; word < 4; word += 1) to[toAt + word] = from[fromAt + word] ?? 0
}

/**
 * A hash table in one block of numbers, because every access check asks it. Slices of a Map, as in `@latchkey/verify`, would be a fifth of
 * the code. Measured side by side, for 1,000, 100,000 and 1,000,000 ended sessions: a lookup takes 0.07, 0.1 and 0.6 µs instead of 0.3, 2
 * and 5. A million take 22 MB instead of 101, and a full garbage collection 8 ms instead of 139.
 */
const createTable = () => {
  let slots = firstSlots
  let words = new Uint32Array(slots * slotWords)
  let usedSlots = 0

  const isKeyAt = (place: number) =>
    words[place + 3] === key[3] && words[place + 2] === key[2] && words[place + 1] === key[1] && words[place] === key[0]

  /**
   * The place of the slot that has the key, or that is free for it. The last two words of a session id are random, so keys spread evenly.
   */
  const find = () => {
    let at = Math.floor((((key[2] ?? 0) ^ (key[3] ?? 0)) >>> 0) * (slots / 2 ** 32))
    for (;;) {
      const place = at * slotWords
      if (words[place + minGenerationAt] === 0 || isKeyAt(place)) return place
      at = at + 1 === slots ? 0 : at + 1
    }
  }

  const write = (minGeneration: number) => {
    const place = find()
    if (words[place + minGenerationAt] === 0) usedSlots += 1
    copyWords(key, 0, words, place)
    words[place + minGenerationAt] = minGeneration
  }

  const grow = () => {
    const old = words
    slots = Math.ceil(slots * growth)
    words = new Uint32Array(slots * slotWords)
    usedSlots = 0
    for (let place = 0; place < old.length; place += slotWords) {
      const minGeneration = old[place + minGenerationAt] ?? 0
      if (minGeneration === 0) continue
      copyWords(old, place, key, 0)
      write(minGeneration)
    }
  }

  return {
    /** The `minGeneration` of the key. 0 if the key is not in the table. */
    minGenerationOfKey: () => words[find() + minGenerationAt] ?? 0,
    setKey: (minGeneration: number) => {
      if (usedSlots + 1 > slots * maxFilled) {
        const newKey = key.slice()
        grow()
        key.set(newKey)
      }
      write(minGeneration)
    },
    eachLastWord: (tell: (word: number) => void) => {
      for (let place = 0; place < words.length; place += slotWords)
        if (words[place + minGenerationAt] !== 0) tell(words[place + 3] ?? 0)
    },
    size: () => ({ entries: usedSlots, bytes: words.byteLength }),
  }
}

/**
 * One bit for each last word of an id, with few collisions. Nearly all sessions have not ended, and one look at the filter says so. The
 * filter fits into the caches of a processor. A lookup in each of the tables takes ten times as long.
 */
const createFilter = () => {
  let bits = new Uint32Array(0)
  const bitOf = (word: number) => 1 << ((word >>> 9) & 31)
  return {
    mayHave: (word: number) => ((bits[word >>> 14] ?? 0) & bitOf(word)) !== 0,
    add: (word: number) => {
      if (bits.length === 0) bits = new Uint32Array(filterBytes / 4)
      bits[word >>> 14] = (bits[word >>> 14] ?? 0) | bitOf(word)
    },
    clear: () => {
      bits = new Uint32Array(0)
    },
    bytes: () => bits.byteLength,
  }
}

type Slice = { from: number; table: ReturnType<typeof createTable> }

/**
 * The sessions that ended in the last minutes, in memory. An entry takes at most 40 bytes, and the filter 1 MB. A million sessions that end
 * within 15 minutes take 41 MB at most, and 68 MB if sessions go on ending at that rate. No entry is forgotten early, however many there
 * are.
 */
export const createEndedList = (now: () => number) => {
  /** The slices of the list, the newest first. */
  let slices: Slice[] = []
  const filter = createFilter()

  const forgetOld = () => {
    const oldest = now() - sliceLength - retention
    if ((slices.at(-1)?.from ?? now()) > oldest) return
    slices = slices.filter(({ from }) => from > oldest)
    filter.clear()
    for (const { table } of slices) table.eachLastWord(filter.add)
  }

  const newest = (): Slice => {
    const [slice] = slices
    if (slice && now() < slice.from + sliceLength) return slice
    const next = { from: now(), table: createTable() }
    slices = [next, ...slices]
    return next
  }

  const minGenerationOf = (sid: string) => {
    if (!filter.mayHave(lastWord(sid))) return 0
    readKey(sid)
    let minGeneration = 0
    for (const { table } of slices) minGeneration = Math.max(minGeneration, table.minGenerationOfKey())
    return minGeneration
  }

  return {
    has: (sid: string, generation: number) => generation < minGenerationOf(sid),
    /** Whether the session has ended, and not only its earlier tokens. */
    hasEnded: (sid: string) => minGenerationOf(sid) === everyGeneration,
    /** False if the entry was known already. */
    add: ({ sid, minGeneration }: EndedSession) => {
      const least = minGeneration ?? everyGeneration
      if (minGenerationOf(sid) >= least) return false
      forgetOld()
      readKey(sid)
      newest().table.setKey(least)
      filter.add(lastWord(sid))
      return true
    },
    forgetOld,
    size: () => {
      const tables = slices.map(({ table }) => table.size())
      const sum = (values: number[]) => values.reduce((total, value) => total + value, 0)
      return {
        entries: sum(tables.map(({ entries }) => entries)),
        bytes: filter.bytes() + sum(tables.map(({ bytes }) => bytes)),
      }
    },
  }
}
