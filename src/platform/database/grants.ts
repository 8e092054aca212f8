import { OperatorError } from '../../lib/operator-error.js'
import type { Sql, Transaction } from './database.js'
import { quoteIdentifier } from './sql.js'

/**
 * The role of the running service, the tables that it may write or only read (in some it may change a few columns only), and the
 * functions that it calls.
 */
export type Grants = {
  role: string
  writable: readonly string[]
  readable: readonly string[]
  changeableColumns: Readonly<Record<string, readonly string[]>>
  callable: readonly string[]
}

class RoleMissing extends OperatorError {
  override name = 'RoleMissing'
}

class SchemaOfOwner extends OperatorError {
  override name = 'SchemaOfOwner'
}

/**
 * Rejects if there is no such role, or if it would not find the tables: the usual search_path begins with a schema that has the name of the
 * searching role, so the owner and this role may search different schemas. It is called before the first migration, so that nothing is
 * changed.
 */
export const requireRole = async (sql: Sql, role: string) => {
  const [known] = await sql.query<{ schema: string; isCurrent: boolean; isOwnersOnly: boolean }>(
    `select current_schema() as schema, rolname = current_user as "isCurrent",
            coalesce(current_setting('search_path') like '%$user%' and current_schema() = current_user, false) as "isOwnersOnly"
       from pg_roles where rolname = $1`,
    [role],
  )
  if (!known) throw new RoleMissing(`The role ${role} does not exist: create it before migrating.`)
  if (known.isOwnersOnly && !known.isCurrent)
    throw new SchemaOfOwner(
      `The tables would be in the schema ${known.schema}, where the role ${role} does not look: the schema has the name of their owner. ` +
        `Nothing was changed. End both addresses with ?search_path=${known.schema}, or with the name of another schema.`,
    )
  return known
}

/** Reads the rights that a migration needs, without using them: the right to create tables, and the ownership of existing ones. */
export const rightsToMigrate = async (sql: Sql, tables: readonly string[]) => {
  const [rights] = await sql.query<{ role: string; creates: boolean; tablesOfOthers: number }>(
    `select current_user::text as role,
            coalesce(has_schema_privilege(current_schema(), 'create'), false) as creates,
            (select count(*) from pg_class
              where oid = any (select to_regclass(name) from unnest($1::text[]) as name)
                and not pg_has_role(relowner, 'usage')) as "tablesOfOthers"`,
    [tables],
  )
  if (!rights) throw new Error('The database gave no answer')
  return rights
}

/** Grants the role only what it needs: it reads and writes rows, and cannot create or alter tables. */
export const grant = async (
  sql: Pick<Transaction, 'query' | 'script'>,
  { role, writable, readable, changeableColumns, callable }: Grants,
) => {
  const { schema, isCurrent } = await requireRole(sql, role)
  if (isCurrent) return
  const to = quoteIdentifier(role)
  const columnGrants = Object.entries(changeableColumns).map(
    ([table, columns]) => `
    revoke update on ${table} from ${to};
    grant update (${columns.join(', ')}) on ${table} to ${to};`,
  )
  await sql.script(`
    grant usage on schema ${quoteIdentifier(schema)} to ${to};
    revoke all on ${[...writable, ...readable].join(', ')} from ${to};
    grant select, insert, update, delete on ${writable.join(', ')} to ${to};
    grant select on ${readable.join(', ')} to ${to};
    grant execute on function ${callable.join(', ')} to ${to};
    ${columnGrants.join('')}
  `)
}
