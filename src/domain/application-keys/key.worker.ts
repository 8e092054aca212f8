import { generateKeyPairSync, type KeyObject, sign } from 'node:crypto'
import { yieldToOthers } from '../../platform/workers/priority.js'

yieldToOthers()

/** In the PKCS#8 form. Looking for the primes takes up to a second. */
export const makeRsaKey = () =>
  generateKeyPairSync('rsa', { modulusLength: 2048 }).privateKey.export({ type: 'pkcs8', format: 'pem' }).toString()

export const signWithRsa = ({ key, text }: { key: KeyObject; text: string }) =>
  sign('sha256', Buffer.from(text), key).toString('base64url')
