import { OperatorError } from '../../lib/operator-error.js'
import type { Transaction } from './database.js'

/** By name and not "all tables": others may live in the same schema. A test compares the list with the migrations. */
export const writableTables = [
  'users',
  'identities',
  'refresh_token_records',
  'pending_registrations',
  'one_time_tokens',
  'outgoing_mail',
  'events',
]
export const readableTables = ['content', 'schema_migrations']

class RoleMissing extends OperatorError {
  override name = 'RoleMissing'
}

/** Least privilege: the service's role reads and writes rows, and only reads `content`. It creates and alters nothing. */
export const grantTo = async (sql: Transaction, role: string) => {
  const [known] = await sql.query<{ schema: string; same: boolean }>(
    'select current_schema() as schema, rolname = current_user as same from pg_roles where rolname = $1',
    [role],
  )
  if (!known) throw new RoleMissing(`The role ${role} does not exist: create it before migrating.`)
  if (known.same) return
  const to = quoted(role)
  await sql.script(`
    grant usage on schema ${quoted(known.schema)} to ${to};
    revoke all on ${[...writableTables, ...readableTables].join(', ')} from ${to};
    grant select, insert, update, delete on ${writableTables.join(', ')} to ${to};
    grant select on ${readableTables.join(', ')} to ${to};
  `)
}

const quoted = (identifier: string) => `"${identifier.replaceAll('"', '""')}"`
