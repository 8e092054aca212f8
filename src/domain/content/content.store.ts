import type { Sql } from '../../platform/database/database.js'

export type ContentRow = { slug: string; title: string; body: string; updated_at: Date }

export const selectAll = (sql: Sql) =>
  sql.query<Omit<ContentRow, 'body'>>('select slug, title, updated_at from content order by slug limit 1000')

export const selectBySlug = (sql: Sql, slug: string) =>
  sql.query<ContentRow>('select slug, title, body, updated_at from content where slug = $1', [slug])

export const upsert = (sql: Sql, content: { slug: string; title: string; body: string; now: Date }) =>
  sql.query(
    `insert into content (slug, title, body, updated_at) values ($1, $2, $3, $4)
     on conflict (slug) do update set title = excluded.title, body = excluded.body, updated_at = excluded.updated_at`,
    [content.slug, content.title, content.body, content.now],
  )
