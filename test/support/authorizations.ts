import { createHash, randomBytes } from 'node:crypto'
import { createTokenExchange } from '../../src/openid/token/authorizations.js'
import { createCodes } from '../../src/openid/token/codes.js'
import { epochSeconds } from '../../src/sessions/issue-tokens.js'
import type { Latchkey } from './latchkey.js'

type Issued = {
  application: { id: string; name: string }
  redirectAddress?: string
  challenge?: string | undefined
  scopes?: string[]
}

/** The codes of the provider, in the process of the service. */
const codesOf = ({ app, clock, config, sql: database }: Latchkey) =>
  createCodes(createTokenExchange(config, { ...app.platform, database, clock }, app.rooms))

/** The newest session of a user, as the caller of a request has it. */
export const callerOf = async ({ sql }: Latchkey, username: string) => {
  const [row] = await sql.query<{ id: string; user_id: string; generation: number }>(
    `select r.id, r.user_id, r.generation from sessions as r join users as u on u.id = r.user_id
     where u.username = $1 order by r.id desc limit 1`,
    [username],
  )
  if (!row) throw new Error(`${username} has no session`)
  return { sessionId: row.id, userId: row.user_id, generation: row.generation }
}

/** The same with the refresh token of the session, signed again. */
const holderOf = async (latchkey: Latchkey, username: string) => {
  const caller = await callerOf(latchkey, username)
  const [row] = await latchkey.sql.query<
    Record<'created_at' | 'issued_at' | 'expires_at', Date> & { signed_in_as: string }
  >('select created_at, issued_at, expires_at, signed_in_as from sessions where id = $1', [caller.sessionId])
  if (!row) throw new Error('The session has ended')
  const claims = {
    userId: caller.userId,
    username: row.signed_in_as,
    sid: caller.sessionId,
    gen: caller.generation,
    auth_time: epochSeconds(row.created_at),
    iat: epochSeconds(row.issued_at),
    exp: epochSeconds(row.expires_at),
  }
  return { ...caller, refreshToken: { text: latchkey.app.rooms.tokens.signRefresh(claims), claims } }
}

/** A code for the newest session of a user, as the authorization endpoint gives it. */
export const issueCode = async (latchkey: Latchkey, username: string, issued: Issued) => {
  const { application, redirectAddress = 'https://notes.example.com/callback', challenge, scopes } = issued
  const holder = await holderOf(latchkey, username)
  const request = {
    client: application,
    redirectUri: redirectAddress,
    codeChallenge: challenge,
    content: { scopes: scopes ?? ['openid', 'profile', 'email', 'groups'], nonce: 'n-0S6' },
    origin: { ip: '192.0.2.1', userAgent: 'test' },
  }
  const result = await latchkey.sql.transaction((sql) => codesOf(latchkey).issue(sql, holder, request))
  if ('refused' in result) throw new Error(`No code was issued: ${result.refused}`)
  return result.code
}

export const newVerifier = () => randomBytes(32).toString('base64url')
export const challengeOf = (verifier: string) => createHash('sha256').update(verifier).digest('base64url')

export const basic = (id: string, secret: string) => ({
  authorization: `Basic ${Buffer.from(`${encodeURIComponent(id)}:${encodeURIComponent(secret)}`).toString('base64')}`,
})

/** Sends a form as a program does, without cookies. */
export const postForm = async (
  url: string,
  path: string,
  form: Record<string, string> | string,
  headers: Record<string, string> = {},
) => {
  const response = await fetch(new URL(path, url), {
    method: 'POST',
    headers: { 'content-type': 'application/x-www-form-urlencoded', ...headers },
    body: typeof form === 'string' ? form : new URLSearchParams(form).toString(),
  })
  const text = await response.text()
  return {
    status: response.status,
    headers: response.headers,
    body: (text === '' ? {} : JSON.parse(text)) as Record<string, string>,
  }
}

type Used = { id: string; name: string; redirectAddresses: readonly string[] }

/** A program that redeems codes, by default those of one application with its secret. */
export const createProtocolClient = (current: () => { latchkey: Latchkey; application: Used & { secret: string } }) => {
  const credentials = (): Record<string, string> => {
    const { id, secret } = current().application
    return basic(id, secret)
  }

  const token = (
    form: Record<string, string> | string,
    headers: Record<string, string> = credentials(),
    url = current().latchkey.url,
  ) => postForm(url, '/api/auth/token', form, headers)

  return {
    token,
    /** A code with the form that redeems it. */
    readyCode: async (application: Used = current().application, username = 'ada') => {
      const verifier = newVerifier()
      const [redirectAddress = ''] = application.redirectAddresses
      const challenge = challengeOf(verifier)
      const code = await issueCode(current().latchkey, username, { application, redirectAddress, challenge })
      return { grant_type: 'authorization_code', code, redirect_uri: redirectAddress, code_verifier: verifier }
    },
    refreshWith: (refreshToken = '', headers?: Record<string, string>, url?: string) =>
      token({ grant_type: 'refresh_token', refresh_token: refreshToken }, headers, url),
    userInfo: (accessToken = '', url = current().latchkey.url) =>
      fetch(new URL('/api/auth/userinfo', url), { headers: { authorization: `Bearer ${accessToken}` } }),
  }
}

/** By how many seconds each session of the user ends after the tokens of an application in it. */
export const tokensApart = async ({ sql }: Latchkey, username: string) => {
  const rows = await sql.query<{ seconds: number }>(
    `select extract(epoch from r.expires_at - t.expires_at)::float8 as seconds
     from application_tokens as t join application_sessions as s on s.id = t.application_session_id
     join sessions as r on r.id = s.sid join users as u on u.id = s.user_id where u.username = $1`,
    [username],
  )
  return rows.map(({ seconds }) => Math.round(seconds))
}
