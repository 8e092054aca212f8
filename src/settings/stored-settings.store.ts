import type { Sql } from '../platform/database/database.js'
import { selectList } from '../platform/database/sql.js'

export type StoredSettingRow = {
  name: string
  value: unknown
  changed_by: string
  changed_at: Date
  set_by_file: string | null
}
const columns = selectList<StoredSettingRow>({
  name: true,
  value: true,
  changed_by: true,
  changed_at: true,
  set_by_file: true,
})

export const selectAll = (sql: Sql) =>
  sql.query<StoredSettingRow>(`select ${columns} from stored_settings order by name`)

/** A setting that has no row yet has none to lock, so changes of all settings wait for one lock. */
export const lock = (sql: Sql) => sql.query("select pg_advisory_xact_lock(hashtextextended('stored settings', 0))")

export const upsert = (sql: Sql, setting: { name: string; value: unknown; by: string; file: string | null }) =>
  sql.query(
    `insert into stored_settings (name, value, changed_by, changed_at, set_by_file) values ($1, $2::jsonb, $3, now(), $4)
     on conflict (name) do update set value = excluded.value, changed_by = excluded.changed_by,
       changed_at = excluded.changed_at, set_by_file = excluded.set_by_file`,
    [setting.name, setting.value, setting.by, setting.file],
  )

export const releaseOne = (sql: Sql, name: string) =>
  sql.query('update stored_settings set set_by_file = null where name = $1', [name])

export const remove = (sql: Sql, name: string) => sql.query('delete from stored_settings where name = $1', [name])
