import { equalInConstantTime } from '../lib/random.js'
import { comparedTogether, costOf } from './hashes.js'

/*
 * Three bcrypt comparisons in one to two times the time of one (`node bench/run.mjs login`).
 *
 * Each step of bcrypt looks up four words of a table, at places that the step before has just decided. So a core waits for its own cache
 * most of the time, on purpose. The library computes one hash at a time. Here three of them take turns, step by step, and each works while
 * the others wait. What else runs on the same core, such as the other thread of a core that has two, makes the gain smaller.
 *
 * The algorithm and its results are those of the paper (https://www.usenix.org/legacy/events/usenix99/provos/provos.pdf). The steps are
 * WebAssembly, put together below: from JavaScript the engines of Node 20 and 24 make code of very different speed.
 */

const lanes = Array.from({ length: comparedTogether }, (_, lane) => lane)

/* The memory of a lane, in words of 32 bits: the state of Blowfish (18 subkeys, four tables of 256), the password, the salt, and a block. */
const subkeys = 18
const stateWords = subkeys + 4 * 256
const passwordAt = stateWords
const saltAt = passwordAt + subkeys
const blockAt = saltAt + subkeys
const laneWords = blockAt + 2

const bytes = (words: number) => 4 * words
const addressOf = (lane: number, word: number) => bytes(lane * laneWords + word)

/** WebAssembly in its binary form (https://webassembly.github.io/spec/core/binary/), as far as it is needed here. */
type Code = number | readonly Code[]
const flat = (code: Code): number[] => (typeof code === 'number' ? [code] : code.flatMap(flat))

/** LEB128: seven bits at a time, the lowest first. The last byte of a signed number is below 0x40, because its seventh bit is the sign. */
const leb128 = (value: number, end: 0x40 | 0x80): number[] =>
  value < end ? [value] : [(value & 0x7f) | 0x80, ...leb128(value >>> 7, end)]
const unsigned = (value: number) => leb128(value, 0x80)

const i32 = 0x7f
const [and, xor, add, shiftLeft, shiftRight, lessThan] = [0x71, 0x73, 0x6a, 0x74, 0x76, 0x49] as const
const constant = (value: number): Code => [0x41, leb128(value, 0x40)]
const get = (local: number): Code => [0x20, local]
const set = (local: number): Code => [0x21, local]
const load = (address: number): Code => [0x28, 2, unsigned(address)]
const store = (address: number): Code => [0x36, 2, unsigned(address)]
/** Also the address of what lies at a known offset. */
const zero = constant(0)

/** The locals of a function: its parameter, a counter, and the two halves of the block of each lane. */
const parameter = 0
const counter = 1
const left = (lane: number) => 2 + 2 * lane
const right = (lane: number) => 3 + 2 * lane
const allLocals = 2 + 2 * comparedTogether

const inEachLane = (code: (lane: number) => Code): Code => lanes.map(code)

/** Counts from 0 up to `end`. */
const countUp = (end: number, step: number, body: Code): Code => [
  [zero, set(counter)],
  [0x03, 0x40, body],
  [get(counter), constant(step), add, set(counter)],
  [get(counter), constant(end), lessThan, 0x0d, 0, 0x0b],
]

/** The word of a table that a byte of `half` names. `shift` and the mask give four times that byte: `(half >>> 24) * 4` is `half >>> 22 & 0x3fc`. */
const lookUp = (lane: number, table: number, half: number, shift: Code): Code => [
  [get(half), shift, constant(bytes(0xff)), and],
  load(addressOf(lane, subkeys + 256 * table)),
]

const mixed = (lane: number, half: number): Code => [
  lookUp(lane, 0, half, [constant(22), shiftRight]),
  [lookUp(lane, 1, half, [constant(14), shiftRight]), add],
  [lookUp(lane, 2, half, [constant(6), shiftRight]), xor],
  [lookUp(lane, 3, half, [constant(2), shiftLeft]), add],
]

const subkey = (lane: number, index: number): Code => [zero, load(addressOf(lane, index))]

const round = (lane: number, index: number): Code => {
  const [from, to] = index % 2 === 1 ? [left(lane), right(lane)] : [right(lane), left(lane)]
  return [get(to), subkey(lane, index), xor, mixed(lane, from), xor, set(to)]
}

/** Blowfish on one block of each lane, round by round. */
const encipher: Code = [
  inEachLane((lane) => [get(left(lane)), subkey(lane, 0), xor, set(left(lane))]),
  Array.from({ length: 16 }, (_, index) => inEachLane((lane) => round(lane, index + 1))),
  // From the stack the halves come back in the reverse order, so they change places.
  inEachLane((lane) => [get(left(lane)), get(right(lane)), subkey(lane, 17), xor, set(left(lane)), set(right(lane))]),
]

const storeBlocks = (offset: Code, word: number): Code =>
  inEachLane((lane) => [
    [offset, get(left(lane)), store(addressOf(lane, word))],
    [offset, get(right(lane)), store(addressOf(lane, word + 1))],
  ])

/**
 * The key schedule of Blowfish, with the password or the salt as key: the parameter says where it is in its lane. Each block replaces two
 * words of the state.
 */
const expandKey: Code = [
  countUp(
    bytes(subkeys),
    bytes(1),
    inEachLane((lane) => [
      [get(counter), get(counter), load(addressOf(lane, 0))],
      [get(counter), get(parameter), add, load(addressOf(lane, 0))],
      [xor, store(addressOf(lane, 0))],
    ]),
  ),
  inEachLane((lane) => [zero, set(left(lane)), zero, set(right(lane))]),
  countUp(bytes(stateWords), bytes(2), [encipher, storeBlocks(get(counter), 0)]),
]

const encipherBlocks: Code = [
  inEachLane((lane) => [
    [zero, load(addressOf(lane, blockAt)), set(left(lane))],
    [zero, load(addressOf(lane, blockAt + 1)), set(right(lane))],
  ]),
  encipher,
  storeBlocks(zero, blockAt),
]

const withLength = (code: Code): Code => {
  const content = flat(code)
  return [unsigned(content.length), content]
}
const section = (id: number, content: Code): Code => [id, withLength(content)]
const text = (value: string): Code => withLength([...Buffer.from(value)])
/** Without a parameter there is one local more, so that all others have the same numbers. */
const functionOf = (parameters: 0 | 1, body: Code): Code => withLength([1, allLocals - parameters, i32, body, 0x0b])

type Steps = { memory: WebAssembly.Memory; expandKey(keyAddress: number): void; encipherBlocks(): void }

/** A module with one page of memory and two functions. */
const makeSteps = () => {
  const code = flat([
    [...Buffer.from('\0asm\x01\0\0\0')],
    section(1, [2, 0x60, 1, i32, 0, 0x60, 0, 0]),
    section(3, [2, 0, 1]),
    section(5, [1, 0, 1]),
    section(7, [3, text('memory'), 2, 0, text('expandKey'), 0, 0, text('encipherBlocks'), 0, 1]),
    section(10, [2, functionOf(1, expandKey), functionOf(0, encipherBlocks)]),
  ])
  return new WebAssembly.Instance(new WebAssembly.Module(new Uint8Array(code))).exports as unknown as Steps
}

/**
 * The first bits of π behind its point, by Machin's formula. Each arctangent is a series that is summed in halves, as one fraction, which
 * takes a few milliseconds.
 */
const fractionOfPi = (bits: number) => {
  const precision = bits + 64
  const sum = (square: bigint, from: number, to: number): { top: bigint; odds: bigint; power: bigint } => {
    if (to - from === 1) return { top: from % 2 === 0 ? 1n : -1n, odds: BigInt(2 * from + 1), power: square }
    const middle = (from + to) >> 1
    const first = sum(square, from, middle)
    const second = sum(square, middle, to)
    const top = first.top * second.odds * second.power + second.top * first.odds
    return { top, odds: first.odds * second.odds, power: first.power * second.power }
  }
  const arctanOfInverse = (value: number) => {
    const terms = Math.ceil(precision / (2 * Math.log2(value))) + 1
    const { top, odds, power } = sum(BigInt(value * value), 0, terms)
    return ((BigInt(value) * top) << BigInt(precision)) / (odds * power)
  }
  const pi = 4n * (4n * arctanOfInverse(5) - arctanOfInverse(239))
  return BigInt.asUintN(bits, pi >> 64n)
}

/** Blowfish begins with these bits, which nobody has chosen, as its state. */
const firstState = () =>
  Buffer.from(
    fractionOfPi(32 * stateWords)
      .toString(16)
      .padStart(2 * bytes(stateWords), '0'),
    'hex',
  )

const alphabet = './ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789'
const usualAlphabet = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/'
/** bcrypt has an order of its own for the 64 characters. */
const translate = (text: string, from: string, to: string) =>
  text.replace(/./g, (character) => to.charAt(from.indexOf(character)))
const decode = (text: string) => Buffer.from(translate(text, alphabet, usualAlphabet), 'base64')
const encode = (content: Buffer) => translate(content.toString('base64').replace(/=+$/, ''), usualAlphabet, alphabet)

const plaintext = Buffer.from('OrpheanBeholderScryDoubt')
const timesEnciphered = 64
/** The last byte of every hash is left out. */
const digestBytes = 23

/** What one lane computes. */
type LaneWork = { password: string; salt: Buffer; cost: number; digest: Buffer }

/** Makes the module and the first state, which takes about 20 ms. */
const createLanes = () => {
  const steps = makeSteps()
  const state = firstState()
  const memory = Buffer.from(steps.memory.buffer)
  // WebAssembly has the lowest byte of a word first on every processor, and Blowfish the highest.
  const read = (lane: number, word: number) => memory.readUInt32LE(addressOf(lane, word))
  const write = (lane: number, word: number, value: number) => memory.writeUInt32LE(value, addressOf(lane, word))
  /** Writes a text again and again until the words are full. */
  const fill = (lane: number, word: number, words: number, content: Buffer) => {
    const address = addressOf(lane, word)
    memory
      .fill(content, address, address + bytes(words))
      .subarray(address, address + bytes(words))
      .swap32()
  }

  const begin = (lane: number, { password, salt }: LaneWork) => {
    fill(lane, 0, stateWords, state)
    // The NUL behind a password belongs to it. Of a long one only 72 bytes are read.
    fill(lane, passwordAt, subkeys, Buffer.from(`${password}\0`))
    fill(lane, saltAt, subkeys, salt)
    for (let word = 0; word < subkeys; word += 1)
      write(lane, word, (read(lane, word) ^ read(lane, passwordAt + word)) >>> 0)
    for (const half of [0, 1]) write(lane, blockAt + half, 0)
  }

  /** The first key schedule, which mixes the two halves of the salt into the blocks by turns. */
  const expandSalted = () => {
    for (let word = 0; word < stateWords; word += 2) {
      for (const lane of lanes)
        for (const half of [0, 1]) {
          const saltWord = saltAt + ((word + half) % 4)
          write(lane, blockAt + half, (read(lane, blockAt + half) ^ read(lane, saltWord)) >>> 0)
        }
      steps.encipherBlocks()
      for (const lane of lanes) for (const half of [0, 1]) write(lane, word + half, read(lane, blockAt + half))
    }
  }

  const digestOf = (lane: number) => {
    const digest = Buffer.from(plaintext)
    for (let at = 0; at < digest.length; at += bytes(2)) {
      for (const half of [0, 1]) write(lane, blockAt + half, digest.readUInt32BE(at + bytes(half)))
      for (let time = 0; time < timesEnciphered; time += 1) steps.encipherBlocks()
      for (const half of [0, 1]) digest.writeUInt32BE(read(lane, blockAt + half), at + bytes(half))
    }
    return digest.subarray(0, digestBytes)
  }

  /** Each gets its digest when it has done the work of its own cost, and goes on until all have done that of `cost`. */
  const run = (works: readonly LaneWork[], cost: number) => {
    for (const [lane, work] of works.entries()) begin(lane, work)
    expandSalted()
    const ends = new Set(works.map((work) => 2 ** work.cost))
    for (let time = 1; time <= 2 ** cost; time += 1) {
      steps.expandKey(bytes(passwordAt))
      steps.expandKey(bytes(saltAt))
      if (!ends.has(time)) continue
      for (const [lane, work] of works.entries()) if (time === 2 ** work.cost) work.digest = digestOf(lane)
    }
  }

  return (works: readonly LaneWork[], cost: number) => {
    try {
      run(works, cost)
    } finally {
      // No password stays in this memory.
      memory.fill(0)
    }
  }
}

let runLanes: ReturnType<typeof createLanes> | undefined

/** `$2b$10$` */
const lengthBeforeSalt = 7
const lengthOfSalt = 22

/** The password has at most 72 bytes (`condensed`): longer ones are read in another way in hashes of the form `$2a$`. */
export type Comparison = { password: string; hash: string }

/** Compares up to three passwords with hashes of this cost or a lower one. Right or wrong, each does the work of `cost`. */
export const compareTogether = (comparisons: readonly Comparison[], cost: number): boolean[] => {
  runLanes ??= createLanes()
  const works = comparisons.map(({ password, hash }) => {
    const saltAndDigest = hash.slice(lengthBeforeSalt)
    const salt = decode(saltAndDigest.slice(0, lengthOfSalt))
    return { password, cost: costOf(hash) ?? cost, salt, digest: Buffer.alloc(0), saltAndDigest }
  })
  runLanes(works, cost)
  // As text, as the library does: the last characters of both parts could be spelled in several ways.
  return works.map(({ salt, digest, saltAndDigest }) =>
    equalInConstantTime(Buffer.from(encode(salt) + encode(digest)), Buffer.from(saltAndDigest)),
  )
}
