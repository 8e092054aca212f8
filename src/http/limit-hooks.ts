import type { FastifyReply, FastifyRequest } from 'fastify'
import type { LimitCode } from '../contract/refusals.js'
import type { LimiterName } from './limiters.js'

type Hook = (request: FastifyRequest, reply: FastifyReply) => Promise<unknown>

/** The limiters of a hook, and its refusal, for the API document and docs/api.md. */
type HookLimiters = { names: readonly LimiterName[]; code: LimitCode }
export type LimitHook = Hook & { limiters: HookLimiters }

export const limitHook = (limiters: HookLimiters, hook: Hook): LimitHook => Object.assign(hook, { limiters })

/** Undefined if this hook counts nothing. */
export const limitersOfHook = (hook: unknown) =>
  typeof hook === 'function' && 'limiters' in hook ? (hook as LimitHook).limiters : undefined
