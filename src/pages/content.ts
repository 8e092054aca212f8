import type { Clock } from '../lib/clock.js'
import type { Database, Sql } from '../platform/database/database.js'
import * as store from './content.store.js'

export type NewContent = { slug: string; title: string; body: string }

type Heading = { slug: string; title: string; updatedAt: Date }

const headingFrom = ({ slug, title, updated_at }: store.HeadingRow): Heading => ({ slug, title, updatedAt: updated_at })

/** Example pages, until an operator loads others. */
const samples: readonly NewContent[] = [
  { slug: 'welcome', title: 'Welcome', body: 'You are signed in, so you may read this.' },
  {
    slug: 'sessions',
    title: 'Your sessions',
    body: 'Each browser you sign in with is one session. End any of them from the dashboard.',
  },
  {
    slug: 'tokens',
    title: 'Your tokens',
    body: 'They live in cookies that no script can read, for fifteen minutes and for thirty days.',
  },
]

export type Content = ReturnType<typeof createContent>

export const createContent = ({ database, clock }: { database: Database; clock: Clock }) => ({
  list: async () => (await store.selectAll(database)).map(headingFrom),
  find: async (slug: string): Promise<(Heading & { body: string }) | undefined> => {
    const [row] = await store.selectBySlug(database, slug)
    return row && { ...headingFrom(row), body: row.body }
  },
  /** Writes a page. Needs a connection as the owner of the tables, because the role of the service may only read. */
  save: async (sql: Sql, content: NewContent) => {
    await store.upsert(sql, { ...content, now: clock.now() })
  },
  /** Writes the example pages, if there are none and this connection may write. */
  seed: async (sql: Sql) => {
    if (!(await store.mayWrite(sql))) return
    if ((await store.selectAll(sql)).length > 0) return
    for (const sample of samples) await store.upsert(sql, { ...sample, now: clock.now() })
  },
})
