import type { Sql } from '../platform/database/database.js'
import { selectList } from '../platform/database/sql.js'

export type HeadingRow = { slug: string; title: string; updated_at: Date }
type ContentRow = HeadingRow & { body: string }

const headingColumns = selectList<HeadingRow>({ slug: true, title: true, updated_at: true })
const contentColumns = selectList<ContentRow>({ slug: true, title: true, body: true, updated_at: true })

export const selectAll = (sql: Sql) =>
  sql.query<HeadingRow>(`select ${headingColumns} from content order by slug limit 1000`)

export const selectBySlug = (sql: Sql, slug: string) =>
  sql.query<ContentRow>(`select ${contentColumns} from content where slug = $1`, [slug])

/**
 * Whether this connection may write. The service may run with its own role, which has fewer rights than the owner of the tables and may
 * only read.
 */
export const mayWrite = async (sql: Sql) => {
  const [row] = await sql.query<{ may: boolean }>(`select has_table_privilege('content', 'insert, update') as may`)
  return row?.may ?? false
}

export const upsert = (sql: Sql, content: { slug: string; title: string; body: string; now: Date }) =>
  sql.query(
    `insert into content (slug, title, body, updated_at) values ($1, $2, $3, $4)
     on conflict (slug) do update set title = excluded.title, body = excluded.body, updated_at = excluded.updated_at`,
    [content.slug, content.title, content.body, content.now],
  )
