import type { Verified } from './claims.js'
import type { VerifyingKey } from './keys.js'

/** The claims of a token, and the key that proves them. */
export type Proven = { readonly verified: Verified; readonly signedBy: VerifyingKey }

/** The number of tokens in each half. A token with its claims takes about 4 KB, so both halves together stay under 8 MB. */
const maxTokens = 1_000

/** Copies the token: a part of a longer text keeps the whole text in memory, here a header with all cookies. */
const ownText = (token: string) => new TextDecoder().decode(new TextEncoder().encode(token))

/**
 * Tokens whose signature was checked, by their whole text: WebCrypto takes some hundred microseconds for a signature, and a lookup here
 * takes two. When the newer half is full, it takes the place of the older one, whose tokens are forgotten. Each request still checks
 * whether the token is valid *now*, and whether its key is still in use.
 */
export const createVerifiedTokens = () => {
  let newer = new Map<string, Proven>()
  let older = new Map<string, Proven>()
  const remember = (token: string, proven: Proven) => {
    if (newer.size >= maxTokens) {
      older = newer
      newer = new Map()
    }
    newer.set(ownText(token), proven)
    return proven
  }
  return {
    remember,
    find: (token: string) => {
      const proven = newer.get(token)
      if (proven) return proven
      const earlier = older.get(token)
      return earlier && remember(token, earlier)
    },
    size: () => newer.size + older.size,
  }
}
