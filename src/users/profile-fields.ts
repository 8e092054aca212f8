import type { ProfileFieldDefinition } from '../contract/profile-fields.js'
import type { Clock } from '../lib/clock.js'
import type { Database, Sql } from '../platform/database/database.js'
import { createFieldEdits, createFieldLookups, type StoredFields } from './field-rules.js'
import * as store from './profile-fields.store.js'

export type { FieldEditor, InvalidFieldsRefusal } from './field-rules.js'

const purgeBatch = 500

export type ProfileFields = ReturnType<typeof createProfileFields>

/** The fields that an operator asks users for (PROFILE_FIELDS_FILE). Values are checked here only, whoever gives them. */
export const createProfileFields = (deps: {
  database: Database
  clock: Clock
  definitions: readonly ProfileFieldDefinition[]
}) => {
  const { database, definitions } = deps
  return {
    definitions,
    ...createFieldLookups(deps),
    ...createFieldEdits(deps),

    /** Stores the values. The caller holds the row of the user. */
    write: async (sql: Sql, userId: string, fields: StoredFields) => {
      await store.updateFields(sql, userId, fields)
    },

    /** How many users have a value, by key. Fields that the file does not define any more are included. */
    count: async () => (await store.countByKey(database)).map(({ key, users }) => ({ key, users })),

    /** Removes the values of a field from all users, in small transactions. Returns how many users had a value. */
    purge: async (key: string) => {
      let purgedCount = 0
      for (;;) {
        const rows = await store.removeKey(database, key, purgeBatch)
        purgedCount += rows.length
        if (rows.length < purgeBatch) return purgedCount
      }
    },
  }
}
