import { createHash } from 'node:crypto'
import type { FastifyReply, FastifyRequest } from 'fastify'
import type { Attempt, Attempts } from '../../domain/providers/attempt.js'
import type { Cookies } from './cookies.js'

/** Of other tabs, and fewer if the Cookie header would grow too long. */
const otherAttempts = { count: 4, bytes: 1500 }

/** An attacker may have planted hundreds: each answer clears a few of them, so that it stays small enough for any proxy. */
const lookedAtOnce = 8

type Name = `attempt_${string}`
const isAttemptCookieName = (name: string): name is Name => /^attempt_[\w-]{12}$/.test(name)

/** Derived from the state, so that an answer finds its attempt. */
export const attemptCookieName = (state: string): Name =>
  `attempt_${createHash('sha256').update(`attempt ${state}`).digest('base64url').slice(0, 12)}`

export type AttemptCookies = ReturnType<typeof createAttemptCookies>

/** One cookie for each attempt to sign in at a provider, so that two tabs do not disturb each other. */
export const createAttemptCookies = ({ cookies, attempts }: { cookies: Cookies; attempts: Attempts }) => {
  const held = (request: FastifyRequest) =>
    cookies
      .names(request)
      .filter(isAttemptCookieName)
      .slice(0, lookedAtOnce)
      .map((name) => {
        const sealed = cookies.read(request, name) ?? ''
        return { name, bytes: cookies.bytesOf(request, name), attempt: attempts.open(sealed) }
      })
      .sort((left, right) => endOf(left.attempt) - endOf(right.attempt))

  /** Clears what has expired, and the oldest if there are too many. */
  const makeRoom = (request: FastifyRequest, reply: FastifyReply, left: number) => {
    const others = held(request)
    let bytesLeft = Math.min(
      left,
      others.reduce((bytes, other) => bytes - other.bytes, otherAttempts.bytes),
    )
    for (const [index, { name, bytes, attempt }] of others.entries()) {
      if (attempt && others.length - index <= otherAttempts.count && bytesLeft >= 0) continue
      bytesLeft += bytes
      cookies.clear(reply, name)
    }
  }

  return {
    keep: (request: FastifyRequest, reply: FastifyReply, attempt: Attempt) => {
      const name = attemptCookieName(attempt.state)
      const sealed = attempts.seal(attempt)
      makeRoom(request, reply, cookies.bytesLeftWith(request, name, sealed))
      cookies.set(reply, name, sealed)
    },

    /** The attempt that an answer with this state belongs to, if this browser began it and it is not too old. */
    find: (request: FastifyRequest, state: string) => {
      const sealed = cookies.read(request, attemptCookieName(state))
      const attempt = sealed === undefined ? undefined : attempts.open(sealed)
      return attempt?.state === state ? attempt : undefined
    },

    clear: (reply: FastifyReply, { state }: Attempt) => cookies.clear(reply, attemptCookieName(state)),
  }
}

const endOf = (attempt: Attempt | undefined) => attempt?.expiresAt.getTime() ?? 0
