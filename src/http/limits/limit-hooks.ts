import type { FastifyReply, FastifyRequest } from 'fastify'
import type { LimitCode } from '../../contract/limits.js'
import type { LimiterName } from '../../domain/limiters/limiters.js'

type Hook = (request: FastifyRequest, reply: FastifyReply) => Promise<unknown>

/** The limiters of a hook, and its refusal: the API document and docs/api.md are made of it. */
type Counting = { names: readonly LimiterName[]; code: LimitCode }
export type LimitHook = Hook & { counting: Counting }

export const limitHook = (counting: Counting, hook: Hook): LimitHook => Object.assign(hook, { counting })

/** Undefined if this hook counts nothing. */
export const countingOf = (hook: unknown) =>
  typeof hook === 'function' && 'counting' in hook ? (hook as LimitHook).counting : undefined
