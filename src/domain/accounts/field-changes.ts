import { isRefused } from '../../contract/outcome.js'
import type { ProfileFieldChanges } from '../../contract/profile-fields.js'
import type { Transaction } from '../../platform/database/database.js'
import type { FieldEditor, ProfileFields } from '../profile-fields/profile-fields.js'
import type { User } from '../users/users.js'
import type { AccountChanges, OperatorContext } from './account-changes.js'

type Dependencies = {
  accountChanges: Pick<AccountChanges, 'byOperator'>
  profileFields: Pick<ProfileFields, 'change' | 'write'>
}

export type FieldChanges = ReturnType<typeof createFieldChanges>

/** Writes the profile fields of a user. The event names the fields, and has no value. */
export const createFieldChanges = ({ accountChanges, profileFields }: Dependencies) => {
  /** The caller holds the row of the user. The result says which have changed. */
  const write = (given: ProfileFieldChanges, by: FieldEditor) => async (sql: Transaction, user: User) => {
    const read = profileFields.change(user.fields, given, by)
    if (isRefused(read)) return read
    const { fields, changed } = read
    if (changed.length === 0) return { result: changed, changes: {} }
    await profileFields.write(sql, user.id, fields)
    return { result: changed, changes: { fields_changed: { event: { reason: changed.join(',') } } } }
  }

  return {
    write,
    /** `by`: whether also of fields that only administrators edit. */
    byOperator: (actor: OperatorContext, given: ProfileFieldChanges, by: FieldEditor = 'administrators') =>
      accountChanges.byOperator(actor, 'fields_changed', write(given, by)),
  }
}
