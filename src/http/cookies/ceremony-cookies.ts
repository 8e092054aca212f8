import { createHash } from 'node:crypto'
import type { FastifyReply, FastifyRequest } from 'fastify'
import { type Ceremony, expiryOfKept } from '../../domain/passkeys/ceremonies.js'
import type { Cookies } from './cookies.js'

/** Every open tab of the sign-in page has one or two. Each is small. There are fewer if the Cookie header would grow too long. */
const otherCeremonies = 12

/** An attacker may have planted hundreds: each answer clears a few of them, so that it stays small enough for any proxy. */
const lookedAtOnce = 24

type Name = `passkey_${string}`
const isName = (name: string): name is Name => /^passkey_[\w-]{12}$/.test(name)
const nameFor = (challenge: string): Name =>
  `passkey_${createHash('sha256').update(`passkey ${challenge}`).digest('base64url').slice(0, 12)}`

export type CeremonyCookies = ReturnType<typeof createCeremonyCookies>

/** One cookie for each challenge that this browser got for a passkey, so that several tabs do not disturb each other. */
export const createCeremonyCookies = ({ cookies }: { cookies: Cookies }) => {
  const makeRoom = (request: FastifyRequest, reply: FastifyReply, left: number) => {
    const held = cookies
      .names(request)
      .filter(isName)
      .slice(0, lookedAtOnce)
      .map((name) => ({ name, end: expiryOfKept(cookies.read(request, name) ?? '') }))
      .sort((one, other) => one.end - other.end)
    let bytesLeft = left
    for (const [index, { name }] of held.entries()) {
      if (held.length - index <= otherCeremonies && bytesLeft >= 0) return
      bytesLeft += cookies.bytesOf(request, name)
      cookies.clear(reply, name)
    }
  }

  return {
    keep: (request: FastifyRequest, reply: FastifyReply, { challenge, kept }: Ceremony) => {
      const name = nameFor(challenge)
      makeRoom(request, reply, cookies.bytesLeftWith(request, name, kept))
      cookies.set(reply, name, kept)
    },

    /** What this browser kept of the challenge. Its cookie is cleared: the challenge can be answered once. */
    take: (request: FastifyRequest, reply: FastifyReply, challenge: string | undefined) => {
      if (challenge === undefined) return undefined
      const name = nameFor(challenge)
      const kept = cookies.read(request, name)
      if (kept !== undefined) cookies.clear(reply, name)
      return kept
    },
  }
}
