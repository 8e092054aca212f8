import { OperatorError } from '../../lib/operator-error.js'
import type { Database, Sql } from './database.js'

/** The schema for our tables belongs to another program, or does not exist. Nothing was changed. */
export class ForeignSchema extends OperatorError {
  override name = 'ForeignSchema'
}

export type NamedSql = Sql & Pick<Database, 'address'>

/** `schema` is where new tables would be created, `ownSchema` where those of this program are. */
type SchemaContent = {
  database: string
  schema: string | null
  path: string
  ownSchema: string | null
  others: string[]
}

// Rails and golang-migrate have a table `schema_migrations` too, so ours is recognised by its columns. Everything is read with one
// snapshot of the catalog, so that an instance that migrates at this moment is not taken for another program. Tables of extensions do
// not count.
const readSchemaContent = `
  select current_database()::text as database, current_schema()::text as schema, current_setting('search_path') as path,
    (
      select case when (
        select count(*) = 4 from pg_attribute
         where attrelid = pg_class.oid and attname in ('name', 'checksum', 'applied_at', 'oldest_program')
      ) then nspname::text end
      from unnest(current_schemas(false)) with ordinality as searched (name, place)
      join pg_namespace on nspname = searched.name
      join pg_class on relnamespace = pg_namespace.oid and relname = 'schema_migrations'
      order by place limit 1
    ) as "ownSchema",
    array(
      select relname::text from pg_class
       where relnamespace = (select oid from pg_namespace where nspname = current_schema())
         and relkind in ('r', 'p') and not relispartition
         and not exists (
           select from pg_depend
            where classid = 'pg_class'::regclass and objid = pg_class.oid and deptype = 'e'
         )
       order by relname limit 4
    ) as others`

const listNames = (names: readonly string[]) =>
  names.length > 3 ? `${names.slice(0, 3).join(', ')} and others` : names.join(', ')

const contentOf = async (sql: NamedSql) => {
  const [content] = await sql.query<SchemaContent>(readSchemaContent)
  if (!content) throw new Error('The database gave no answer')
  const address = sql.address === undefined ? '' : ` at ${sql.address}`
  return { ...content, databaseText: `The database ${content.database}${address}` }
}

/**
 * Whether the tables of this program exist. Rejects if they do not exist, but tables of another program do: two programs in one schema
 * would share names, rights and backups.
 */
export const hasOwnTables = async (sql: NamedSql): Promise<boolean> => {
  const { databaseText, schema, path, ownSchema, others } = await contentOf(sql)
  if (ownSchema !== null) return true
  if (schema === null)
    throw new ForeignSchema(
      `${databaseText} has no schema of the search_path ${path} that this role may use: create it, as the owner of the tables, ` +
        'or run `latchkey migrate`, which grants the rights.',
    )
  if (others.length > 0)
    throw new ForeignSchema(
      `${databaseText} belongs to another program: its schema ${schema} has the tables ${listNames(others)}. Nothing was changed. ` +
        'Create a database for Latchkey alone and name it in DATABASE_URL (in a .env: LATCHKEY_DATABASE_URL), or a schema, ' +
        'and end the address with ?search_path=SCHEMA.',
    )
  return false
}

/**
 * Rejects if a migration would create tables in another schema than that of the existing tables. This can happen if a schema that was
 * created later, such as one with the name of the role, comes first in the search_path. The program would then find an empty installation.
 */
export const requireOneSchema = async (sql: NamedSql): Promise<void> => {
  const { databaseText, schema, path, ownSchema } = await contentOf(sql)
  if (ownSchema !== null && ownSchema !== schema)
    throw new ForeignSchema(
      `${databaseText} has the tables of Latchkey in the schema ${ownSchema}, and the search_path ${path} would create new ones in the schema ` +
        `${schema}. Nothing was changed. End the address of the owner with ?search_path=${ownSchema}.`,
    )
}
