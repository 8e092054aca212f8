// @ts-nocheck: the package brings no types.
// oidc-provider (panva) with the adapter for PostgreSQL that its documentation leaves to its users: one table, the payload as JSON,
// found by its id. Its own pages are replaced by an answer that signs in the user of `login_hint` and agrees to everything, so that
// both providers give a code to a signed-in browser at once.
import { generateKeyPairSync } from 'node:crypto'
import { createServer } from 'node:http'
import Provider from 'oidc-provider'
import pg from 'pg'

const { PORT: port, DATABASE_URL: connectionString, CLIENT: client = '{}' } = process.env
const issuer = `http://127.0.0.1:${port}`
const pool = new pg.Pool({ connectionString, max: 10 })

await pool.query(`create table if not exists records (
  id text not null, kind text not null, payload jsonb not null, grant_id text, uid text, expires_at timestamptz, consumed_at timestamptz,
  primary key (id, kind))`)
await pool.query('create index if not exists records_of_grant on records (grant_id)')
await pool.query('create index if not exists records_by_uid on records (uid)')
await pool.query('create table if not exists people (id text primary key, name text not null, email text not null)')
await pool.query(`insert into people select 'person-' || n, 'person-' || n, 'person-' || n || '@example.com' from generate_series(0, 31) as n
  on conflict do nothing`)

const createAdapter = (kind) => {
  const find = async (column, value) => {
    const { rows } = await pool.query(
      `select payload, consumed_at from records where kind = $1 and ${column} = $2 and (expires_at is null or expires_at > now())`,
      [kind, value],
    )
    const [row] = rows
    return row && { ...row.payload, ...(row.consumed_at && { consumed: true }) }
  }
  return {
    find: (id) => find('id', id),
    findByUid: (uid) => find('uid', uid),
    findByUserCode: async () => undefined,
    upsert: async (id, payload, lifetime) => {
      await pool.query(
        `insert into records (id, kind, payload, grant_id, uid, expires_at) values ($1, $2, $3, $4, $5, now() + $6 * interval '1 second')
         on conflict (id, kind) do update set payload = excluded.payload, expires_at = excluded.expires_at`,
        [id, kind, payload, payload.grantId ?? null, payload.uid ?? null, lifetime ?? null],
      )
    },
    consume: async (id) => {
      await pool.query('update records set consumed_at = now() where kind = $1 and id = $2', [kind, id])
    },
    destroy: async (id) => {
      await pool.query('delete from records where kind = $1 and id = $2', [kind, id])
    },
    revokeByGrantId: async (grantId) => {
      await pool.query('delete from records where grant_id = $1', [grantId])
    },
  }
}

const { privateKey } = generateKeyPairSync('rsa', { modulusLength: 2048 })

const provider = new Provider(issuer, {
  adapter: createAdapter,
  clients: [JSON.parse(client)],
  jwks: { keys: [{ ...privateKey.export({ format: 'jwk' }), alg: 'RS256', use: 'sig', kid: 'bench' }] },
  cookies: { keys: ['only-for-a-benchmark'] },
  claims: { openid: ['sub'], profile: ['name'], email: ['email'] },
  features: { devInteractions: { enabled: false } },
  interactions: { url: (_, { uid }) => `/interaction/${uid}` },
  issueRefreshToken: async () => true,
  rotateRefreshToken: true,
  // Our ID tokens have the claims of the scopes too.
  conformIdTokenClaims: false,
  findAccount: async (_, id) => {
    const { rows } = await pool.query('select name, email from people where id = $1', [id])
    return rows[0] && { accountId: id, claims: async () => ({ sub: id, ...rows[0] }) }
  },
  loadExistingGrant: async ({ oidc }) => {
    if (!oidc.client || !oidc.session?.accountId) return undefined
    const known = oidc.session.grantIdFor(oidc.client.clientId)
    if (known) return provider.Grant.find(known)
    const grant = new provider.Grant({ clientId: oidc.client.clientId, accountId: oidc.session.accountId })
    grant.addOIDCScope('openid profile email')
    await grant.save()
    return grant
  },
  ttl: {
    AccessToken: 900,
    RefreshToken: 2_592_000,
    Session: 2_592_000,
    Grant: 2_592_000,
    Interaction: 600,
    IdToken: 900,
  },
})

const handle = provider.callback()
const answer = async (request, response) => {
  if (!request.url?.startsWith('/interaction/')) return handle(request, response)
  const { params } = await provider.interactionDetails(request, response)
  return provider.interactionFinished(request, response, { login: { accountId: String(params.login_hint) } })
}
createServer((request, response) => void answer(request, response)).listen(Number(port), '127.0.0.1')
