import type { FastifyReply, FastifyRequest, onRequestAsyncHookHandler, RouteOptions } from 'fastify'
import { type AdminRole, adminPath } from '../contract/admin/admin-bodies.js'
import { factorsOf } from '../contract/factors.js'
import { isRefused, refuse } from '../contract/outcome.js'
import { reachingTwoFactors } from '../contract/proofs.js'
import type { RefusalCode } from '../contract/refusals.js'
import type { AdminSessions } from '../domain/administrators/admin-sessions.js'
import type { Administrator, Administrators } from '../domain/administrators/administrators.js'
import type { Proofs } from '../domain/proofs/proofs.js'
import type { Client } from '../domain/sessions/client.js'
import type { Clock } from '../lib/clock.js'
import { hours } from '../lib/durations.js'
import type { Callers } from './caller.js'
import { cleanReason } from './clean-reason.js'
import { clientOf } from './client.js'
import type { Csrf } from './csrf.js'
import { limitHeaders, sendRefusal } from './errors.js'
import type { LimitHook } from './limits/limit-hooks.js'

/** An administrator proves a second factor this often, also to look only. */
const provenFor = 8 * hours

/** What the guard refuses in front of a handler. */
export const lookRefusals = [
  'not_found',
  'cross_site',
  'fresh_sign_in_required',
  'too_many_requests',
  'bad_request',
  'unavailable',
] as const satisfies RefusalCode[]
export const changeRefusals = [
  ...lookRefusals,
  'invalid_csrf_token',
  'group_required',
  'administrators_account',
  'own_account',
] as const satisfies RefusalCode[]

type Hook = onRequestAsyncHookHandler
/** Who may call the route, for the API document and for the check at the start. */
const admits = new WeakMap<object, AdminRole>()

/** The role that a route asks for; undefined if no guard of administrators is in front of it. */
export const adminRoleOf = ({ onRequest }: Pick<RouteOptions, 'onRequest'>) =>
  [onRequest ?? []].flat().flatMap((hook) => admits.get(hook) ?? [])[0]

/** By the address that was registered, however a request writes it. */
export const isAdminAddress = (url: string | undefined) =>
  url === adminPath || url?.startsWith(`${adminPath}/`) === true

/** A route of administrators without the guard stops the start of the service. */
export const requireAdminGuard = (route: RouteOptions) => {
  if (isAdminAddress(route.url) && adminRoleOf(route) === undefined)
    throw new Error(`${route.url} is an address of administrators, and has no guard`)
}

/** As for an address that does not exist. */
const sendUnknown = (reply: FastifyReply) => {
  for (const name of limitHeaders) reply.removeHeader(name)
  return sendRefusal(reply, refuse('not_found'))
}

type Dependencies = {
  callers: Callers
  csrf: Pick<Csrf, 'required'>
  adminLimit: LimitHook
  administrators: Pick<Administrators, 'find'>
  adminSessions: AdminSessions
  proofs: Pick<Proofs, 'methodsOf'>
  clock: Clock
  settings: { publicUrl: string; freshFor: number; adminGroup: string; supportGroup: string | undefined }
}

/** Whether the second factor was proven in this time. */
const createProofCheck = ({ proofs, clock, callers }: Pick<Dependencies, 'proofs' | 'clock' | 'callers'>) => {
  const message = 'Administrators confirm with a second factor that it is them'
  return async (request: FastifyRequest, { proof }: Administrator, within: number) => {
    const { methods, secondFactorAt } = proof
    const age = clock.now().getTime() - (secondFactorAt?.getTime() ?? Number.NEGATIVE_INFINITY)
    if (factorsOf(methods) === 2 && age <= within) return undefined
    const ofUser = await proofs.methodsOf(callers.of(request).userId)
    return refuse('fresh_sign_in_required', { message, methods: reachingTwoFactors(ofUser ?? [], methods) })
  }
}

/** A page of another origin, also one of ALLOWED_ORIGINS or of a sibling host, whose requests have the cookies. */
const isForeign = ({ headers }: FastifyRequest, publicUrl: string) => {
  const site = headers['sec-fetch-site']
  const isOtherSite = site !== undefined && site !== 'same-origin' && site !== 'none'
  return isOtherSite || (headers.origin !== undefined && headers.origin !== publicUrl)
}

/** Who is let in, and who was let in by a request. */
const createAdmission = (deps: Dependencies) => {
  const { callers, administrators, adminSessions, settings } = deps
  const { adminGroup, supportGroup, publicUrl } = settings
  const missingProof = createProofCheck(deps)
  const admitted = new WeakMap<FastifyRequest, Administrator & { groups: readonly string[] }>()
  const groupsOf: Record<AdminRole, string[]> = {
    admin: [adminGroup],
    support: [adminGroup, ...(supportGroup === undefined ? [] : [supportGroup])],
  }

  const refusalFor = async (request: FastifyRequest, administrator: Administrator, needed: AdminRole) => {
    if (isForeign(request, publicUrl)) return refuse('cross_site')
    const missing = await missingProof(request, administrator, provenFor)
    if (missing) return missing
    if (needed === 'admin' && administrator.role !== 'admin') return refuse('group_required')
    const begun = administrator.isBegun ? undefined : await adminSessions.begin(callers.contextOf(request))
    return isRefused(begun) ? begun : undefined
  }

  return {
    missingProof,
    asks: (needed: AdminRole) => {
      const hook: Hook = async (request, reply) => {
        const administrator = await administrators.find(callers.of(request))
        if (!administrator) return sendUnknown(reply)
        const refusal = await refusalFor(request, administrator, needed)
        if (refusal) return sendRefusal(reply, refusal)
        admitted.set(request, { ...administrator, groups: groupsOf[needed] })
        return undefined
      }
      admits.set(hook, needed)
      return hook
    },
    administratorOf: (request: FastifyRequest) => {
      const administrator = admitted.get(request)
      if (!administrator) throw new Error('A handler asked for its administrator without the guard')
      return administrator
    },
  }
}

export type AdminGuard = ReturnType<typeof createAdminGuard>

/**
 * The one way to register a route of administrators: `server.get(path, adminGuard.look({ schema }), handler)`. Who is in neither group
 * gets the answer of an address that does not exist.
 */
export const createAdminGuard = (deps: Dependencies) => {
  const { callers, csrf, adminLimit, settings } = deps
  const admission = createAdmission(deps)
  const { administratorOf } = admission

  const signedIn: Hook = async (request, reply) => (callers.peek(request) ? undefined : sendUnknown(reply))

  const fresh: Hook = async (request, reply) => {
    const missing = await admission.missingProof(request, administratorOf(request), settings.freshFor)
    return missing && sendRefusal(reply, missing)
  }

  const notOneself: Hook = async (request, reply) => {
    const { id } = request.params as { id?: string }
    return id === callers.of(request).userId ? sendRefusal(reply, refuse('own_account')) : undefined
  }

  const guarded =
    (onRequest: readonly Hook[]) =>
    <Options extends object>(options: Options) => ({
      ...options,
      onRequest: [...onRequest],
      preValidation: [cleanReason],
      config: { ownOriginOnly: true },
    })
  const lookedAt = (needed: AdminRole) => [signedIn, adminLimit, admission.asks(needed)]
  const changed = (needed: AdminRole) => [...lookedAt(needed), csrf.required, fresh, notOneself]

  return {
    /** Both groups look at everything. */
    look: guarded(lookedAt('support')),
    /** A change by which both groups help users. */
    help: guarded(changed('support')),
    /** A change of what users may do, by administrators only. */
    change: guarded(changed('admin')),
    administratorOf,
    /** Who changes something, and why: every event of the change has it. */
    clientOf: (request: FastifyRequest, reason?: string): Client => {
      const { role, groups } = administratorOf(request)
      const { userId, sessionId } = callers.of(request)
      const spares = role === 'support' ? [settings.adminGroup] : []
      return { ...clientOf(request), actor: { userId, sessionId, groups, reason, spares } }
    },
  }
}
