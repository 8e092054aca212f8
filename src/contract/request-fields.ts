import { type TObject, Type } from 'typebox'
import type { UsernameSource } from './pages.js'

/** Fields of several requests. Longer values are refused before anything looks at them. */
export const TypedPassword = Type.String({ minLength: 1, maxLength: 1024 })
export const TypedEmail = Type.String({ minLength: 3, maxLength: 254 })
/** A username has no @, so one field takes both. */
export const TypedLogin = Type.String({ minLength: 1, maxLength: 254, description: 'An email or a username' })
/** Shown by the page of the mailed link, which may be opened in another browser. An unknown id counts as none. */
export const SendingApplication = Type.String({
  minLength: 1,
  maxLength: 128,
  description: 'The id (`client_id`) of the application that has sent the user here',
})
/** The secret of a mailed link. */
export const LinkToken = Type.String({ minLength: 1, maxLength: 128 })

// Longer than a name may be: its own rules say what is wrong, each with its code.
export const TypedUsername = Type.String({ maxLength: 1024, description: 'May be missing with `USERNAMES=from_email`' })

/** A registration in whose type the username is optional. It is required where users choose it. */
export const askingUsername = <Body extends TObject>(body: Body, source: UsernameSource): Body =>
  source === 'chosen' ? { ...body, required: ['username', ...(body.required ?? [])] } : body
