import type { Sql } from '../../platform/database/database.js'
import { selectList } from '../../platform/database/sql.js'
import { type LiveAt, liveSession, momentsOf } from './live-sessions.js'

export type SessionRow = {
  id: string
  ip: string
  user_agent: string
  created_at: Date
  last_used_at: Date
  expires_at: Date
  methods: string[]
  provider: string | null
  signed_in_as: string
  administers_since: Date | null
  application: string | null
}

const sessionSelectList = selectList<SessionRow>({
  id: true,
  ip: true,
  user_agent: true,
  created_at: true,
  last_used_at: true,
  expires_at: true,
  methods: true,
  provider: true,
  signed_in_as: true,
  administers_since: true,
  application: '(select name from applications as a where a.id = r.application_id)',
})

export const selectOfUser = (sql: Sql, userId: string, live: LiveAt) =>
  sql.query<SessionRow>(
    `select ${sessionSelectList} from sessions as r
     where r.user_id = $1 and ${liveSession('$2')} order by last_used_at desc, id desc limit 200`,
    [userId, momentsOf(live)],
  )
