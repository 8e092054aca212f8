import type { Verified } from './claims.js'
import type { VerifyingKey } from './keys.js'

/** The claims of a token, and the key that proves them. */
export type Proven = { readonly verified: Verified; readonly by: VerifyingKey }

/** In each half. A token and what it says take about 4 KB, so both halves together stay under 8 MB. */
const maxTokens = 1_000

/** A part of a longer text keeps all of it in memory, here a whole header with cookies. This is a text of its own. */
const ownText = (token: string) => new TextDecoder().decode(new TextEncoder().encode(token))

/**
 * Tokens whose signature was checked, by their whole text: WebCrypto takes some hundred microseconds for one, finding it
 * here takes two. When the newer half is full it becomes the older one, and what was there is forgotten. Whether a token is
 * valid *now* is asked at every request and is no part of this; so is whether its key is still in use.
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
