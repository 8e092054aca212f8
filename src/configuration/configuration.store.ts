import type { Sql } from '../platform/database/database.js'

/** Files are applied one after the other, whichever instance or command does it. */
export const lock = (sql: Sql) => sql.query("select pg_advisory_xact_lock(hashtextextended('configuration', 0))")
