import { createHmac } from 'node:crypto'
import { loginKey } from '../domain/users/users.js'

/** What the key is derived for, from the signing secret. */
export const typedNamesPurpose = 'typed names'

/** What a typed name is counted under: its MAC, because people type passwords into the name field. */
export const typedNameSubject = (keys: readonly Buffer[], name: string) =>
  createHmac('sha256', keys[0] ?? '')
    .update(loginKey(name))
    .digest('base64url')
