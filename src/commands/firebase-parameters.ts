import { readFile } from 'node:fs/promises'
import type { FirebaseParameters } from '../domain/passwords/hash-to-store.js'
import { CommandFailure } from './command.js'
import { cannotRead } from './input.js'

/** A value of the parameters as Firebase shows them (`rounds: 8,`), or of the same as JSON. */
const written = (text: string, name: string) =>
  new RegExp(String.raw`(?:^|[\s{,])"?${name}"?\s*:\s*"?([A-Za-z0-9+/_-]*={0,2})"?\s*(?:[,}\n]|$)`).exec(text)?.[1]

export const readFirebaseParameters = (text: string): FirebaseParameters => {
  const read = (name: string) => {
    const value = written(text, name)
    if (value === undefined) throw new CommandFailure(`The Firebase parameters have no ${name}.`)
    return value
  }
  const [rounds, memoryCost] = [Number(read('rounds')), Number(read('mem_cost'))]
  const signerKey = Buffer.from(read('base64_signer_key'), 'base64')
  if (!(rounds >= 1 && rounds <= 8) || !(memoryCost >= 1 && memoryCost <= 14) || signerKey.length < 16)
    throw new CommandFailure(
      'The Firebase parameters must have rounds of 1 to 8, mem_cost of 1 to 14, and a signer key.',
    )
  return { signerKey, saltSeparator: Buffer.from(read('base64_salt_separator'), 'base64'), rounds, memoryCost }
}

/** A file and no option: other users of the machine can read the options of a command, and the signer key is a secret. */
export const loadFirebaseParameters = async (path: string) => {
  const text = await readFile(path, 'utf8').catch((error: unknown) => {
    throw cannotRead(path, error)
  })
  return readFirebaseParameters(text)
}
