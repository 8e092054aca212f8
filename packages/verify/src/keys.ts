import type { TokenText } from './token-text.js'

export type SignatureResult = 'good' | 'bad_signature' | 'unknown_key' | 'unavailable'

/** The keys of one algorithm. There is one kind for secrets and one for published keys, and a verifier has one of the two. */
export type Keys = {
  check(token: TokenText): Promise<SignatureResult>
  /** Asks for the current keys if those that are known are too old. */
  refresh(): Promise<void>
  isKnown(): boolean
  /** Changes when a key is withdrawn: what was verified before must be verified again. */
  version(): number
}
