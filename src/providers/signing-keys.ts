import type { Clock } from '../lib/clock.js'
import { hours, minutes, seconds } from '../lib/durations.js'
import type { Fetch } from '../platform/outbound/outbound.js'

const renewalAge = 5 * minutes
const coolDown = 30 * seconds
const longestAge = 24 * hours

type KeySet = { body: string; fetchedAt: number }

/**
 * The provider's signing keys. They are loaded again when they are old, or when a token names an unknown key. Tokens with invented key
 * names cause at most one request per cool-down. While the provider cannot be reached, the last good set is used.
 */
export const createProviderKeys = ({ clock }: { clock: Clock }) => {
  let current: KeySet | undefined
  let lastRenewalAt: number | undefined
  let pendingDownload: Promise<KeySet> | undefined

  const age = () => (current ? clock.now().getTime() - current.fetchedAt : Number.POSITIVE_INFINITY)

  const download = async (fetch: Fetch, url: string, request: Parameters<Fetch>[1]) => {
    const response = await fetch(url, request)
    const body = await response.text()
    if (response.status !== 200 || !isKeySet(body)) throw new Error('The answer is not a set of keys')
    return { body, fetchedAt: clock.now().getTime() }
  }

  const renew = (fetch: Fetch, url: string, request: Parameters<Fetch>[1]) => {
    if (current) lastRenewalAt = clock.now().getTime()
    pendingDownload ??= download(fetch, url, request)
      .then((keySet) => {
        current = keySet
        return keySet
      })
      .catch((error: unknown) => {
        if (current && age() < longestAge) return current
        throw error
      })
      .finally(() => {
        pendingDownload = undefined
      })
    return pendingDownload
  }

  const isCoolingDown = () => lastRenewalAt !== undefined && clock.now().getTime() - lastRenewalAt < coolDown

  return {
    /**
     * The set for the library, with an age of two minutes. The library uses a set that is less than five minutes old. If a token
     * names an unknown key, the library loads the set again only if it is more than one minute old.
     */
    forLibrary: () =>
      current && age() < renewalAge
        ? { jwks: JSON.parse(current.body), uat: Math.floor(Date.now() / 1000) - 120 }
        : undefined,
    /** Answers the library's request for the key set. */
    answer: async (fetch: Fetch, url: string, request: Parameters<Fetch>[1]) => {
      const keySet = current && isCoolingDown() && age() < longestAge ? current : await renew(fetch, url, request)
      return new Response(keySet.body, { headers: { 'content-type': 'application/json' } })
    },
  }
}

const isKeySet = (body: string) => {
  try {
    const parsed: unknown = JSON.parse(body)
    return typeof parsed === 'object' && parsed !== null && 'keys' in parsed && Array.isArray(parsed.keys)
  } catch {
    return false
  }
}
