import { Type } from 'typebox'

/** What several requests carry. Longer values are refused before anything looks at them. */
export const TypedPassword = Type.String({ minLength: 1, maxLength: 1024 })
export const TypedEmail = Type.String({ minLength: 3, maxLength: 254 })
/** The secret of a mailed link. */
export const LinkToken = Type.String({ minLength: 1, maxLength: 128 })
