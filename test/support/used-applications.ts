import { randomUUID } from 'node:crypto'
import type { Sql } from '../../src/platform/database/database.js'
import type { Browser } from './client.js'

type Given = { name?: string; backchannel?: string | null; groups?: string[]; logoutAddresses?: string[] }

/** An application, as `latchkey application add` makes it. */
export const addApplication = async (sql: Sql, { name, backchannel, groups, logoutAddresses = [] }: Given = {}) => {
  const id = randomUUID()
  await sql.query(
    `insert into applications
       (id, name, home, kind, redirect_addresses, logout_addresses, backchannel_logout, access, groups, consent, pkce, algorithm, created_at)
     values ($1, $2, 'https://app.example/', 'web', '{https://app.example/callback}', $3, $4, $5, $6, 'none', true, 'ES256', now())`,
    [
      id,
      name ?? `Application ${id.slice(0, 8)}`,
      logoutAddresses,
      backchannel === undefined ? 'https://app.example/logout' : backchannel,
      groups ? 'groups' : 'everyone',
      groups ?? [],
    ],
  )
  return id
}

export const sessionOf = (tab: Browser) => {
  const [, claims = ''] = (tab.jar.get('access_token') ?? '').split('.')
  const { sid, sub } = JSON.parse(Buffer.from(claims, 'base64url').toString()) as { sid: string; sub: string }
  return { sid, userId: sub }
}

/** The user of this browser signs in to the application, as a first code does it. */
export const useApplication = async (sql: Sql, tab: Browser, applicationId: string) => {
  const { sid, userId } = sessionOf(tab)
  await sql.query(
    `insert into application_sessions (id, sid, application_id, user_id, scopes, created_at, last_used_at)
     values ($1, $2, $3, $4, '{openid}', now(), now())`,
    [randomUUID(), sid, applicationId, userId],
  )
  return { sid, userId }
}

export const noticesOf = async (sql: Sql, applicationId: string) =>
  (
    await sql.query<{ sid: string; user_id: string }>(
      'select sid, user_id from logout_notices where application_id = $1 order by created_at, id',
      [applicationId],
    )
  ).map(({ sid, user_id }) => ({ sid, userId: user_id }))
