import { isRefused } from '../contract/outcome.js'
import type { ProfileFieldChanges } from '../contract/profile-fields.js'
import type { Transaction } from '../platform/database/database.js'
import type { FieldEditor, ProfileFields } from '../users/profile-fields.js'
import type { User } from '../users/users.js'

import type { AccountChanges, OperatorContext } from './account-changes.js'

type Dependencies = {
  accountChanges: Pick<AccountChanges, 'byOperator'>
  profileFields: Pick<ProfileFields, 'change' | 'write'>
}

export type FieldChanges = ReturnType<typeof createFieldChanges>

/** Writes the profile fields of a user. The event names the fields, never their values. */
export const createFieldChanges = ({ accountChanges, profileFields }: Dependencies) => {
  /** The caller holds the row of the user. The result is the list of keys whose values have changed. */
  const write = (fieldChanges: ProfileFieldChanges, editor: FieldEditor) => async (sql: Transaction, user: User) => {
    const updated = profileFields.change(user.fields, fieldChanges, editor)
    if (isRefused(updated)) return updated
    const { fields, changed } = updated
    if (changed.length === 0) return { result: changed, changes: {} }
    await profileFields.write(sql, user.id, fields)
    return { result: changed, changes: { fields_changed: { event: { reason: changed.join(',') } } } }
  }

  return {
    write,
    /** `editor`: whose rights apply. Some fields can be edited by administrators only. */
    byOperator: (actor: OperatorContext, fieldChanges: ProfileFieldChanges, editor: FieldEditor = 'administrators') =>
      accountChanges.byOperator(actor, 'fields_changed', write(fieldChanges, editor)),
  }
}
