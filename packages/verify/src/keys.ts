import type { TokenText } from './token-text.js'

/** A key that is or was in use. Two keys are the same only if they are the same object. */
export type VerifyingKey = { readonly id: string; readonly key: CryptoKey }

type KeyRefusal = 'bad_signature' | 'unknown_key' | 'unavailable'

/** The keys of one algorithm: made from secrets (`secret-keys`), or published by the service (`published-keys`). */
export type Keys = {
  /** The key that has signed the token, or why the token is refused. */
  check(token: TokenText): Promise<VerifyingKey | KeyRefusal>
  /** Whether this key is still in use. It may have been withdrawn since it was found, also during a check. */
  holds(key: VerifyingKey): boolean
  /** Asks for the current keys if those that are known are too old. */
  refresh(): Promise<void>
  areLoaded(): boolean
  /** The problem that keeps every token from being accepted until a setting is changed. */
  lastingProblem(): string | undefined
}
