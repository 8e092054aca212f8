import { Type } from 'typebox'
import { linkKindOf } from '../account-changes/undos.js'
import { UndoState } from '../contract/mailed-links.js'
import { isRefused, refuse } from '../contract/outcome.js'
import { type UndoLinkKind, undoTokenFor } from '../contract/pages.js'
import { type ProviderId, providerLabel } from '../contract/providers.js'
import { LinkToken, NoContent, TypedPassword } from '../contract/schemas.js'
import { type Client, clientOf } from '../http/request-origin.js'
import { route, type Server } from '../http/route.js'
import type { App } from '../service/open-http.js'
import { resetLimitsOfOwner } from '../sign-in/recovered-accounts.js'

/** Describes the change that a link takes back, for its page. */
const describe = async ({ undoPreview, providers }: App, token: string) => {
  const nameOf = (provider: ProviderId) => providers[provider]?.name ?? providerLabel(provider)
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
    removes: { totp, recoveryCodes, passkeys, providers: preview.providers.map(nameOf), tokens: preview.tokens },
    keeps: { ...preview.keeps, providers: preview.keeps.providers.map(nameOf), name: user.name },
  }
  return state
}

type Link = { token: string; linkKind: UndoLinkKind; password: string | undefined }

/** Takes the change back. `password` is the new password. It is checked against the names that the account has afterwards. */
const takeBack = async (app: App, { token, linkKind, password }: Link, client: Client) => {
  const { undoPreview, takeBackAccount, passwords } = app
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

/** Takes an account back, with the link of a mail about a change. No session is needed, because the mail went to the owner. */
export const undoRoutes = (server: Server, app: App) => {
  const { limits, countedRequests } = app

  route(server, 'POST /api/auth/undo/check', {
    guard: [limits.byNetwork],
    tag: 'undo',
    summary: 'Whether a link still works, and all that it takes back; changes nothing',
    body: Type.Object({ token: LinkToken }),
    refuses: ['bad_request', 'invalid_link', 'cross_site'],
    answers: { 200: UndoState },
    handle: ({ body }) => describe(app, body.token),
  })

  const undoRoute = (address: `POST /${string}`, linkKind: UndoLinkKind, mail: string) =>
    route(server, address, {
      guard: [limits.confirm],
      tag: 'undo',
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
      refuses: [
        'bad_request',
        'invalid_link',
        'cross_site',
        'password_rejected',
        'password_unchanged',
        'busy',
        'unavailable',
      ],
      answers: { 204: NoContent },
      onSend: countedRequests.refundSuccess,
      handle: async ({ body: { token, password }, request }) => {
        const owner = await takeBack(app, { token, linkKind, password }, clientOf(request))
        if (isRefused(owner)) return owner
        await resetLimitsOfOwner(app, owner, request)
        return undefined
      },
    })

  undoRoute(
    'POST /api/auth/factors/undo',
    'factor',
    'the mail about an added factor, passkey or provider, or a changed username, language or password',
  )
  undoRoute('POST /api/auth/email/undo', 'email', 'the mail about a change of the email')
}
