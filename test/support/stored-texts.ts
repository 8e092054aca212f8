import { Redis } from 'ioredis'
import type { Sql } from '../../src/platform/database/database.js'

export const tableNames = async (sql: Sql) => {
  const rows = await sql.query<{ name: string }>(
    `select c.relname as name from pg_class as c where relkind in ('r', 'p') and not relispartition
       and relnamespace = current_schema()::regnamespace`,
  )
  return rows.map(({ name }) => name)
}

/** The tables with a row that holds one of these texts, whatever the column. */
export const rowsWith = async (sql: Sql, texts: readonly string[]) => {
  const found: string[] = []
  for (const table of await tableNames(sql)) {
    const pattern = texts.join('|').replaceAll('.', '\\.')
    const rows = await sql.query(`select t::text as row from ${table} as t where t::text ~* $1`, [pattern])
    if (rows.length > 0) found.push(`${table}: ${JSON.stringify(rows)}`)
  }
  return found
}

/** Every key and value of one installation. */
export const everythingInRedis = async ({ redisUrl = '', redisPrefix }: { redisUrl?: string; redisPrefix: string }) => {
  const redis = new Redis(redisUrl)
  const keys = await redis.keys(`${redisPrefix}*`)
  const values = await Promise.all(keys.map((key) => redis.dump(key)))
  redis.disconnect()
  return [...keys, ...values].join('\n')
}
