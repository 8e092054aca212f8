import { type Sql, StoreUnavailable } from './database.js'

/**
 * Throws `StoreUnavailable` if one of these tables is missing, or if this role may not write it. This happens if a backup is restored
 * while the service runs, until `latchkey migrate` has run. The query looks at the catalog only, and reads no row.
 */
export const proveTables = async (sql: Sql, tables: readonly string[]) => {
  const unusable = await sql.query<{ name: string }>(
    `select name from unnest($1::text[]) as name
     where not coalesce(has_table_privilege(to_regclass(name), 'insert'), false) order by name`,
    [tables],
  )
  if (unusable.length === 0) return
  const names = unusable.map(({ name }) => name).join(', ')
  throw new StoreUnavailable(`These tables are missing, or this role may not write them: ${names}`)
}
