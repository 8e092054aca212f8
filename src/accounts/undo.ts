import { linkKindOf } from '../account-changes/undos.js'
import type { UndoState } from '../contract/mailed-links.js'
import { isRefused, refuse } from '../contract/outcome.js'
import type { UndoLinkKind } from '../contract/pages.js'
import { type ProviderId, providerLabel } from '../contract/providers.js'

import type { Client } from '../http/request-origin.js'
import type { Passwords } from '../passwords/passwords.js'
import type { Providers } from '../providers/providers.js'
import type { TakeBack } from './take-back.js'
import type { UndoPreview } from './undo-preview.js'

type Dependencies = {
  undoPreview: UndoPreview
  takeBackAccount: TakeBack
  passwords: Pick<Passwords, 'refusalFor' | 'hash' | 'verify'>
  providers: Providers
}
type Link = { token: string; password?: string | undefined }

/** Takes an account back, with the link of a mail about a change. No session is needed, because the mail went to the owner. */
export const createUndo = ({ undoPreview, takeBackAccount, passwords, providers }: Dependencies) => {
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
