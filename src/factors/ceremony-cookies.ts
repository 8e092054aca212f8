import type { FastifyReply, FastifyRequest } from 'fastify'
import type { Cookies } from '../http/cookies.js'
import { createTabCookies } from '../http/tab-cookies.js'
import { type Ceremony, expiryOfSealedChallenge } from './passkey-ceremonies.js'

/** One small cookie for each challenge that this browser got for a passkey: every tab of the sign-in page has one or two. */
export const createCeremonyCookies = ({ cookies }: { cookies: Cookies }) => {
  const tabs = createTabCookies({
    cookies,
    prefix: 'passkey',
    maxOthers: 12,
    maxBytesOfOthers: Number.POSITIVE_INFINITY,
    expiryOf: expiryOfSealedChallenge,
  })
  return {
    keep: (request: FastifyRequest, reply: FastifyReply, { challenge, sealedChallenge }: Ceremony) =>
      tabs.keep(request, reply, challenge, sealedChallenge),
    /** Takes the sealed challenge of this browser, and clears its cookie, because a challenge can be answered once. */
    take: (request: FastifyRequest, reply: FastifyReply, challenge: string | undefined) => {
      if (challenge === undefined) return undefined
      const sealedChallenge = tabs.read(request, challenge)
      if (sealedChallenge !== undefined) tabs.clear(reply, challenge)
      return sealedChallenge
    },
  }
}
