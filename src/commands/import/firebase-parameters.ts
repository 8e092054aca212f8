import { readFile } from 'node:fs/promises'
import type { FirebaseParameters } from '../../passwords/hashes.js'
import { CommandFailure } from '../command.js'
import { cannotRead, type Input } from './input.js'

/** The value of a parameter in the text that Firebase shows (`rounds: 8,`), or in the same text as JSON. */
const parameterIn = (text: string, name: string) =>
  new RegExp(String.raw`(?:^|[\s{,])"?${name}"?\s*:\s*"?([A-Za-z0-9+/_-]*={0,2})"?\s*(?:[,}\n]|$)`).exec(text)?.[1]

export const readFirebaseParameters = (text: string): FirebaseParameters => {
  const requireParameter = (name: string) => {
    const value = parameterIn(text, name)
    if (value === undefined) throw new CommandFailure(`The Firebase parameters have no ${name}.`)
    return value
  }
  const rounds = Number(requireParameter('rounds'))
  const memoryCost = Number(requireParameter('mem_cost'))
  const signerKey = Buffer.from(requireParameter('base64_signer_key'), 'base64')
  if (!(rounds >= 1 && rounds <= 8) || !(memoryCost >= 1 && memoryCost <= 14) || signerKey.length < 16)
    throw new CommandFailure(
      'The Firebase parameters must have rounds of 1 to 8, mem_cost of 1 to 14, and a signer key.',
    )
  return {
    signerKey,
    saltSeparator: Buffer.from(requireParameter('base64_salt_separator'), 'base64'),
    rounds,
    memoryCost,
  }
}

/** The parameters are in a file because the signer key is a secret, and other users of the machine can read the options of a command. */
export const loadFirebaseParameters = async (path: string) => {
  const text = await readFile(path, 'utf8').catch((error: unknown) => {
    throw cannotRead(path, error)
  })
  return readFirebaseParameters(text)
}

/** The most that is read to find the end of the parameters, which have a few hundred bytes. */
const maxBytes = 64 * 1024

/** White space, or a second closing brace: as JSON, the parameters are an object in an object. */
const isSeparator = (byte: number) => /[\s}]/.test(String.fromCharCode(byte))

async function* afterParameters(head: Buffer, chunks: AsyncIterator<Buffer | string>) {
  let hasBegun = false
  for (let next: Buffer | undefined = head; next; ) {
    const start: number = hasBegun ? 0 : next.findIndex((byte) => !isSeparator(byte))
    hasBegun = start >= 0
    if (hasBegun) yield next.subarray(start)
    const { value, done } = await chunks.next()
    next = done ? undefined : Buffer.from(value)
  }
}

/** The parameters at the beginning of the input, up to their closing brace, and what comes after them. */
export const splitFirebaseParameters = async (input: Input) => {
  const chunks = input.bytes[Symbol.asyncIterator]()
  let head = Buffer.alloc(0)
  let end = -1
  while (end < 0 && head.length < maxBytes) {
    const { value, done } = await chunks.next()
    if (done) break
    head = Buffer.concat([head, Buffer.from(value)])
    end = head.indexOf('}')
  }
  if (end < 0) throw new CommandFailure('Standard input does not begin with the Firebase parameters, as { … }.')
  const firebase = readFirebaseParameters(head.subarray(0, end + 1).toString())
  const rest: Input = { ...input, bytes: afterParameters(head.subarray(end + 1), chunks) }
  return { firebase, rest }
}
