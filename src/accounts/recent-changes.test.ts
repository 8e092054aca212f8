import { expect, it } from 'vitest'
import type { Undo, Undoable } from '../account-changes/undos.js'
import type { User } from '../users/users.js'
import { clearingOf } from './take-back.js'

const first = { id: 'first', sealed: 'a' }
const second = { id: 'second', sealed: 'b' }
const added: Undoable = { kind: 'totp' }
const replaced = (former: typeof first): Undoable => ({ kind: 'totp_replaced', former })

it.each([
  ['stays as it is without a change of it', [{ kind: 'password' }], 'stays'],
  ['is the one before the oldest replacement', [replaced(first), replaced(second)], first],
  ['is removed if it was added in these days, also if it was replaced since', [added, replaced(first)], 'removed'],
  // Switching two-step sign-in off has forgotten the secret of the first row.
  ['is removed if it was switched off after a replacement, and added again', [added, added], 'removed'],
] satisfies [string, Undoable[], unknown][])(
  'the authenticator app of an account that is taken back %s',
  (_, open, totp) => {
    expect(clearingOf({ username: 'ada' } as User, open as Undo[]).totp).toEqual(totp)
  },
)
