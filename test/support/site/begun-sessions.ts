import { systemClock } from '../../../src/lib/clock.js'
import { uuidv7 } from '../../../src/lib/uuid.js'
import type { Database } from '../../../src/platform/database/database.js'
import { createTokens } from '../../../src/sessions/tokens.js'
import { secretOf } from './instance.js'

export type BegunSession = { sid: string; token: string }

/** Sessions as a sign-in makes them, with an access token for each, without the cost of a password. */
export const beginSessions = async (sql: Database, publicUrl: string, username: string, count: number) => {
  const tokens = createTokens({ secrets: [secretOf('a')], clock: systemClock, issuer: publicUrl })
  const [user] = await sql.query<{ id: string }>('select id from users where username = $1', [username])
  const iat = Math.floor(Date.now() / 1000)
  const ids = Array.from({ length: count }, () => uuidv7(new Date()))
  await sql.query(
    `insert into sessions (id, user_id, token_hash, generation, issued_at, rotated_at, expires_at, ip,
       user_agent, created_at, last_used_at, methods, authenticated_at, second_factor_required, signed_in_as)
     select id, $2, '', 0, now(), now(), now() + interval '30 days', '192.0.2.7', 'Test', now(), now(), '{pwd}', now(), false, $3
     from unnest($1::uuid[]) as id`,
    [ids, user?.id, username],
  )
  const who = {
    userId: user?.id ?? '',
    username,
    email: `${username}@example.com`,
    name: null,
    amr: ['pwd'],
    groups: [],
  }
  const times = { iat, exp: iat + 900, auth_time: iat }
  return ids.map((sid): BegunSession => ({ sid, token: tokens.signAccess({ ...who, ...times, sid, gen: 0 }) }))
}
