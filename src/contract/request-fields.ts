import { type TObject, Type } from 'typebox'
import type { UsernameSource } from './pages.js'

/** Fields of several requests. Longer values are refused before anything looks at them. */
export const TypedPassword = Type.String({ minLength: 1, maxLength: 1024 })
export const TypedEmail = Type.String({ minLength: 3, maxLength: 254 })
/** A username has no @, so one field takes a username or an email. */
export const TypedLogin = Type.String({ minLength: 1, maxLength: 254, description: 'An email or a username' })
/**
 * The id of the application that sent the user. The page of the mailed link names the application, also in another browser. An
 * unknown id is ignored.
 */
export const SendingApplication = Type.String({
  minLength: 1,
  maxLength: 128,
  description: 'The id (`client_id`) of the application that has sent the user here',
})
/** The secret of a mailed link. */
export const LinkToken = Type.String({ minLength: 1, maxLength: 128 })

// The schema allows more than a username may have, so that the rules of usernames give the refusal.
export const TypedUsername = Type.String({ maxLength: 1024, description: 'May be missing with `USERNAMES=from_email`' })

/** The schema of a registration, which requires the username if users choose it. In the type the username stays optional. */
export const withRequiredUsername = <Body extends TObject>(body: Body, source: UsernameSource): Body =>
  source === 'chosen' ? { ...body, required: ['username', ...(body.required ?? [])] } : body
