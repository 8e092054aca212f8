import { Type } from 'typebox'

/** The schema of a 204. */
export const NoContent = Type.Unsafe<undefined>({ type: 'null', description: 'Done; there is nothing to say' })
