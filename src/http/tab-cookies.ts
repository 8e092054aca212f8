import { createHash } from 'node:crypto'
import type { FastifyReply, FastifyRequest } from 'fastify'
import type { Cookies } from './cookies.js'

type Prefix = 'attempt' | 'passkey'
type Name = `${Prefix}_${string}`

export const tabCookieName = (prefix: Prefix, secret: string): Name =>
  `${prefix}_${createHash('sha256').update(`${prefix} ${secret}`).digest('base64url').slice(0, 12)}`

type Options = {
  cookies: Cookies
  prefix: Prefix
  /** The most cookies of other tabs that stay; fewer if the Cookie header would grow too long. */
  maxOthers: number
  maxBytesOfOthers: number
  /** The time at which a value expires, in milliseconds; 0 if the value is invalid. */
  expiryOf: (value: string) => number
}

/**
 * Cookies of which every tab has its own, so that tabs do not disturb each other. The name is derived from a secret of the tab,
 * so that the answer to the tab finds its cookie.
 */
export const createTabCookies = ({ cookies, prefix, maxOthers, maxBytesOfOthers, expiryOf }: Options) => {
  const namePattern = new RegExp(String.raw`^${prefix}_[\w-]{12}$`)
  const isTabCookieName = (name: string): name is Name => namePattern.test(name)
  const nameFor = (secret: string) => tabCookieName(prefix, secret)

  /** An attacker may have planted hundreds: each answer clears a few of them, so that it stays small enough for any proxy. */
  const othersOf = (request: FastifyRequest) =>
    cookies
      .ownNamesSent(request)
      .filter(isTabCookieName)
      .slice(0, 2 * maxOthers)
      .map((name) => ({
        name,
        bytes: cookies.bytesFreedBy(request, name),
        expiry: expiryOf(cookies.read(request, name) ?? ''),
      }))
      .sort((left, right) => left.expiry - right.expiry)

  /** Clears what has expired, and the oldest if there are too many. */
  const makeRoom = (request: FastifyRequest, reply: FastifyReply, left: number) => {
    const others = othersOf(request)
    const bytesOfOthers = others.reduce((sum, { bytes }) => sum + bytes, 0)
    let bytesLeft = Math.min(left, maxBytesOfOthers - bytesOfOthers)
    for (const [index, { name, bytes, expiry }] of others.entries()) {
      if (expiry > 0 && others.length - index <= maxOthers && bytesLeft >= 0) continue
      bytesLeft += bytes
      cookies.clear(reply, name)
    }
  }

  return {
    keep: (request: FastifyRequest, reply: FastifyReply, secret: string, value: string) => {
      const name = nameFor(secret)
      makeRoom(request, reply, cookies.bytesLeftWith(request, name, value))
      cookies.set(reply, name, value)
    },
    read: (request: FastifyRequest, secret: string) => cookies.read(request, nameFor(secret)),
    clear: (reply: FastifyReply, secret: string) => cookies.clear(reply, nameFor(secret)),
  }
}
