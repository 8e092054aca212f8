import type { FastifyReply } from 'fastify'
import { Type } from 'typebox'
import { isRefused, type Refused } from '../contract/outcome.js'
import { InvalidFields } from '../contract/profile-fields.js'
import {
  ErrorBody,
  FailureBody,
  FreshSignInRequired,
  Limited,
  LoginLimited,
  PasswordRejected,
  TooManyMails,
  TooManyUsernames,
} from '../contract/refusal-bodies.js'
import { type RefusalCode, refusals } from '../contract/refusals.js'
import { sendRefusal } from './errors.js'

/** The refusals whose bodies have another shape than the usual one. */
const otherBodies = {
  too_many_logins: LoginLimited,
  too_many_requests: Limited,
  too_many_attempts: Limited,
  password_rejected: PasswordRejected,
  invalid_fields: InvalidFields,
  fresh_sign_in_required: FreshSignInRequired,
  too_many_mails: TooManyMails,
  too_many_usernames: TooManyUsernames,
  unknown_application: FailureBody,
  redirect_not_registered: FailureBody,
} as const satisfies Partial<Record<RefusalCode, object>>

const hasOtherBody = (code: RefusalCode): code is keyof typeof otherBodies => Object.hasOwn(otherBodies, code)

const bodyFor = (code: RefusalCode) => {
  if (hasOtherBody(code)) return otherBodies[code]
  return refusals[code].status >= 500 ? FailureBody : ErrorBody
}

const sizeOf = (body: ReturnType<typeof bodyFor>) => Object.keys(body.properties).length

/** Refusals with one status may have different bodies. The largest body comes first, because the serialiser takes the first that fits. */
const bodyOfAll = (codes: readonly RefusalCode[]) => {
  const bodies = [...new Set(codes.map(bodyFor))].sort((one, other) => sizeOf(other) - sizeOf(one))
  return bodies.length === 1 ? bodies[0] : Type.Union(bodies)
}

type StatusOf<Code extends RefusalCode> = (typeof refusals)[Code]['status']
type BodyOf<Code extends RefusalCode> = Code extends keyof typeof otherBodies
  ? (typeof otherBodies)[Code]
  : StatusOf<Code> extends 500 | 503
    ? typeof FailureBody
    : typeof ErrorBody
type Responses<Code extends RefusalCode> = { [Each in Code as StatusOf<Each>]: BodyOf<Each> }

/** The refusals of the guards in front of a handler that changes something for a caller. */
export const guardRefusals = [
  'not_authenticated',
  'invalid_csrf_token',
  'cross_site',
  'too_many_requests',
  'unavailable',
] as const satisfies RefusalCode[]

/** The bodies that the schemas of the route let a handler send. */
type BodyTaken<Reply extends FastifyReply> = Parameters<Reply['send']>[0]

/**
 * The refusals of one route, named once: its response schemas come from this list, and a refusal that is not on it does not compile. A
 * guard's refusal must be on the list, too, if it shares its status with another one, because the schema of the status serialises both.
 */
export const routeRefusals = <const Code extends RefusalCode>(...codes: Code[]) => ({
  responses: Object.fromEntries(
    codes.map((code) => {
      const { status } = refusals[code]
      const sameStatus = codes.filter((each) => refusals[each].status === status)
      return [status, { ...bodyOfAll(sameStatus), 'x-response-description': sameStatus.join(', ') }]
    }),
  ) as unknown as Responses<Code>,
  sendRefusal: (reply: FastifyReply, refused: Refused<Code>) => sendRefusal(reply, refused),
  /** Sends the refusal, or the result with this status. */
  answer: <Reply extends FastifyReply>(reply: Reply, result: BodyTaken<Reply> | Refused<Code>, status = 200) =>
    isRefused(result) ? sendRefusal(reply, result as Refused<Code>) : reply.status(status).send(result),
})
