import type { AccessClaims } from './claims.js'

/** Bounds that are enough for the users of a busy instance, because an access token lasts 15 minutes. */
const usualBounds = { maxTokens: 32_768, maxBytes: 32 * 1024 * 1024 }

/**
 * The size of an entry: the text, about as much again for its claims, the entry in the map, and the answers that are kept with the claims.
 */
const sizeOf = (token: string) => 2 * token.length + 640

/** Copies a text. A part of a longer text would keep all of it in memory, here a whole header with cookies. */
const ownText = (token: string) => Buffer.from(token, 'latin1').toString('latin1')

/**
 * Access tokens whose signature and claims were checked, so that the next request with the same text needs no second check.
 * Only the whole text is compared, and only `remember` adds one: a token that fails its check leaves nothing here.
 * Whether a token is valid *now* (expiry, not-before) is no part of this, and is asked at every request.
 *
 * There are two halves. When the newer half is full it becomes the older one, and what was in the older one is forgotten.
 * A token that is found in the older half moves to the newer one, so those in use stay.
 */
export const createVerifiedTokens = ({ maxTokens, maxBytes } = usualBounds) => {
  let newer = new Map<string, AccessClaims>()
  let older = new Map<string, AccessClaims>()
  let newerBytes = 0
  let olderBytes = 0

  const remember = (token: string, claims: AccessClaims) => {
    const size = sizeOf(token)
    if (newer.size + 1 > maxTokens / 2 || newerBytes + size > maxBytes / 2) {
      older = newer
      olderBytes = newerBytes
      newer = new Map()
      newerBytes = 0
    }
    // The claims are frozen, because many requests share them from now on.
    newer.set(ownText(token), Object.freeze(claims))
    newerBytes += size
  }

  /** Keeps a token that is still in use. */
  const renew = (token: string) => {
    const claims = older.get(token)
    if (!claims) return undefined
    older.delete(token)
    olderBytes -= sizeOf(token)
    remember(token, claims)
    return claims
  }

  return {
    find: (token: string) => newer.get(token) ?? renew(token),
    remember,
    size: () => ({ tokens: newer.size + older.size, bytes: newerBytes + olderBytes }),
  }
}
