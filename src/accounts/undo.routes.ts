import type { FastifyReply, FastifyRequest } from 'fastify'
import { Type } from 'typebox'
import { linkKindOf } from '../account-changes/undos.js'
import { UndoState } from '../contract/mailed-links.js'
import { isRefused, refuse } from '../contract/outcome.js'
import { type UndoLinkKind, undoTokenFor } from '../contract/pages.js'
import { type ProviderId, providerLabel } from '../contract/providers.js'
import { LinkToken, NoContent, TypedPassword } from '../contract/schemas.js'
import type { CountedRequests } from '../http/limits.js'
import { type Client, clientOf } from '../http/request-origin.js'
import { routeRefusals } from '../http/route.js'
import type { Server } from '../http/server.js'
import type { Passwords } from '../passwords/passwords.js'
import type { Providers } from '../providers/providers.js'
import type { Limits } from '../sessions/guards.js'
import type { RecoveredAccounts } from '../sign-in/answers.js'
import type { TakeBack, UndoPreview } from './take-back.js'

type UndoDependencies = {
  undoPreview: UndoPreview
  takeBackAccount: TakeBack
  passwords: Passwords
  providers: Providers
}
type Link = { token: string; password?: string | undefined }

/** Takes an account back, with the link of a mail about a change. No session is needed, because the mail went to the owner. */
export const createUndo = ({ undoPreview, takeBackAccount, passwords, providers }: UndoDependencies) => {
  const nameOf = (provider: ProviderId) => providers[provider]?.name ?? providerLabel(provider)

  /** Describes the change that a link takes back, for its page. */
  const describe = async (token: string) => {
    const preview = await undoPreview(token)
    if (isRefused(preview)) return preview
    const { undo, user, email, username, language, formerTotp, totp, recoveryCodes, passkeys } = preview
    const state: UndoState = {
      kind: undo.kind,
      username: user.username,
      email,
      disabled: user.disabled,
      changesBack: {
        email: email === user.email ? null : email,
        username: username === user.username ? null : username,
        language: language === undefined || language === user.language ? null : language,
        totp: formerTotp,
      },
      removes: { totp, recoveryCodes, passkeys, providers: preview.providers.map(nameOf) },
      keeps: { ...preview.keeps, providers: preview.keeps.providers.map(nameOf), name: user.name },
    }
    return state
  }

  /** Takes the change back. `password` is the new password. It is checked against the names that the account has afterwards. */
  const takeBack = async (linkKind: UndoLinkKind, { token, password }: Link, client: Client) => {
    if (password === undefined) return takeBackAccount({ token, linkKind, passwordHash: undefined }, client)
    const preview = await undoPreview(token)
    if (isRefused(preview)) return preview
    if (linkKindOf(preview.undo) !== linkKind) return refuse('invalid_link')
    const { user, email, username } = preview
    const rejected = await passwords.refusalFor(password, { ...user, email, username }, client)
    if (rejected) return rejected
    // The thief who made the changes may know the current password.
    const comparison = await passwords.verify(password, user.passwordHash, client)
    if (isRefused(comparison)) return comparison
    if (comparison.matches) return refuse('password_unchanged')
    const passwordHash = await passwords.hash(password, client)
    if (isRefused(passwordHash)) return passwordHash
    return takeBackAccount({ token, linkKind, passwordHash }, client)
  }

  return { describe, takeBack }
}

const checkRefusals = routeRefusals('bad_request', 'invalid_link', 'cross_site', 'too_many_requests', 'unavailable')
const { responses, sendRefusal } = routeRefusals(
  'bad_request',
  'invalid_link',
  'cross_site',
  'password_rejected',
  'password_unchanged',
  'too_many_requests',
  'busy',
  'unavailable',
)

const tags = ['undo']
const checkSchema = {
  tags,
  summary: 'Whether a link still works, and all that it takes back; changes nothing',
  body: Type.Object({ token: LinkToken }),
  response: { 200: UndoState, ...checkRefusals.responses },
}
const schemaOf = (linkKind: UndoLinkKind, mail: string) => ({
  tags,
  summary: `Take the account back, with the token of ${mail}`,
  description:
    'Puts back the address to which the mail went, removes everything that was added in the last seven days and can still be undone, and ends every session and waiting link. `password` becomes the new one. Without it, no password works, and a reset link is mailed to that address.',
  body: Type.Object({
    token: Type.String({
      minLength: 1,
      maxLength: 128,
      description: `Begins with \`${undoTokenFor(linkKind, '')}\`, or it is refused with invalid_link`,
    }),
    password: Type.Optional(TypedPassword),
  }),
  response: { 204: NoContent, ...responses },
})
const schemas = {
  factor: schemaOf(
    'factor',
    'the mail about an added factor, passkey or provider, or a changed username, language or password',
  ),
  email: schemaOf('email', 'the mail about a change of the email'),
}

type UndoRouteDependencies = {
  undo: ReturnType<typeof createUndo>
  recoveredAccounts: RecoveredAccounts
  limits: Limits
  countedRequests: CountedRequests
}
type UndoLink = { token: string; password?: string }

export const undoRoutes = (server: Server, deps: UndoRouteDependencies) => {
  const { undo, recoveredAccounts, limits, countedRequests } = deps
  const limitHooks = { onRequest: limits.confirm, onSend: countedRequests.refundSuccess }

  server.post('/api/auth/undo/check', { schema: checkSchema, onRequest: limits.byNetwork }, async (request, reply) => {
    return checkRefusals.answer(reply, await undo.describe(request.body.token))
  })

  const takeBack = async (linkKind: UndoLinkKind, link: UndoLink, request: FastifyRequest, reply: FastifyReply) => {
    const owner = await undo.takeBack(linkKind, link, clientOf(request))
    if (isRefused(owner)) return sendRefusal(reply, owner)
    await recoveredAccounts.forgetLimits(owner, request)
    return reply.status(204).send()
  }

  server.post('/api/auth/factors/undo', { schema: schemas.factor, ...limitHooks }, async (request, reply) =>
    takeBack('factor', request.body, request, reply),
  )

  server.post('/api/auth/email/undo', { schema: schemas.email, ...limitHooks }, async (request, reply) =>
    takeBack('email', request.body, request, reply),
  )
}
