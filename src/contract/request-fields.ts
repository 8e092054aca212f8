import { Type } from 'typebox'

/** What several requests carry. Longer values are refused before anything looks at them. */
export const TypedPassword = Type.String({ minLength: 1, maxLength: 1024 })
export const TypedEmail = Type.String({ minLength: 3, maxLength: 254 })
/** Shown by the page of the mailed link, which may be opened in another browser. One that is not known is no one. */
export const SendingApplication = Type.String({
  minLength: 1,
  maxLength: 128,
  description: 'The id (`client_id`) of the application that has sent the user here',
})
/** The secret of a mailed link. */
export const LinkToken = Type.String({ minLength: 1, maxLength: 128 })
