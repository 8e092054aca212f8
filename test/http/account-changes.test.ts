import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { refuse } from '#contract/outcome.js'
import type { ChangeDetails } from '../../src/account-changes/account-change-table.js'
import {
  type ChangeKind,
  type ChangeRow,
  type Consequences,
  consequencesOf,
  type Initiator,
  type Voided,
} from '../../src/account-changes/account-change-table.js'

import type { Transaction } from '../../src/platform/database/database.js'
import {
  changeDetails,
  kindsByInitiator,
  type PreparedAccount,
  prepareAccount,
  client as someone,
} from '../support/account-kinds.js'
import { type Latchkey, startLatchkey } from '../support/latchkey.js'

/** The language of this client is not that of the mails, which are in the language of the account. */
const client = { ...someone, language: 'fr' } as const

let latchkey: Latchkey
beforeAll(async () => {
  latchkey = await startLatchkey()
  await latchkey.sql.query("insert into webhooks_wanted (until) values (now() + interval '1 day')")
})
afterAll(() => latchkey.stop())

/** Triggers queue these webhooks, so the row itself must change. */
const changeRow = async (sql: Transaction, kind: ChangeKind, userId: string) => {
  const { webhook } = consequencesOf(kind)
  if (webhook === 'user.updated') await sql.query("update users set name = 'Another' where id = $1", [userId])
  if (webhook === 'user.deleted') await sql.query('delete from users where id = $1', [userId])
}

const webhooksFor = (kind: ChangeKind) => {
  const { webhook } = consequencesOf(kind)
  if (webhook === null) return []
  const [type, factor] = webhook.split(' ')
  const given = changeDetails[kind] as { factors?: readonly string[] }
  return factor === 'each' ? (given.factors ?? []).map((each) => `${type} ${each}`) : [webhook]
}

/** For each thing that a change can void: a query for its row of an account. */
const voidable: Record<Voided, string> = {
  resets: "select 1 from one_time_tokens where user_id = $1 and purpose = 'reset_password'",
  'restore links': "select 1 from one_time_tokens where user_id = $1 and purpose = 'restore_account'",
  'undo links to later addresses': `select 1 from undos where user_id = $1 and email like 'later%' and not is_void`,
  'email change': 'select 1 from email_changes where user_id = $1',
  'trusted devices': 'select 1 from trusted_devices where user_id = $1',
  'personal tokens': 'select 1 from personal_tokens where user_id = $1',
  'waiting sign-ins': `select 1 from sign_in_challenges where user_id = $1 and way = 'password'
    union all select 1 from mailed_codes where user_id = $1`,
  'waiting sign-ins by provider': "select 1 from sign_in_challenges where user_id = $1 and way = 'provider'",
}
/** A deletion voids everything. A change that voids the waiting sign-ins also voids those by provider. */
const isVoided = ({ voids, webhook }: Consequences, voided: Voided) =>
  webhook === 'user.deleted' ||
  voids.includes(voided) ||
  (voided === 'waiting sign-ins by provider' && voids.includes('waiting sign-ins'))

/** Makes a change as this initiator does. The change itself does no more than what the triggers look at. */
const change = async (kind: ChangeKind, initiator: Initiator, account: PreparedAccount) => {
  const { user, own } = account
  const caller = { userId: user.id, sessionId: own, generation: 0 }
  const { accountChanges } = latchkey.app.rooms
  const changes = { [kind]: changeDetails[kind] }
  const work = async (sql: Transaction) => {
    await changeRow(sql, kind, user.id)
    return { changes }
  }
  if (initiator === 'sign-in')
    return latchkey.sql.transaction(async (sql) => {
      await changeRow(sql, kind, user.id)
      return accountChanges.bySignIn(sql, { user, client, caller }, changes)
    })
  if (initiator === 'old token')
    return accountChanges.byOldToken({ caller, client }, kind as 'session_stolen', async (sql) => {
      if (kind === 'session_stolen') await latchkey.app.rooms.sessions.end(sql, 'refresh_theft', caller)
      return { changes: changes as { session_stolen: typeof changeDetails.session_stolen } }
    })
  if (initiator === 'caller') return accountChanges.byCaller({ caller, client }, kind as 'totp_added', work)
  const context = { userId: user.id, client, caller: initiator === 'link' ? caller : undefined }
  return initiator === 'link'
    ? accountChanges.byLink(context, kind as 'email_changed', work)
    : accountChanges.byOperator(context, kind as 'user_disabled', work)
}

describe('a change of an account', () => {
  it.each(kindsByInitiator)('$kind by $initiator has the consequences of the table', async ({ kind, initiator }) => {
    const row = consequencesOf(kind)
    const account = await prepareAccount(latchkey.sql, latchkey.app.rooms, `${kind}-${initiator}`.replaceAll('_', '-'))
    const { user, own, other } = account
    const { sql } = latchkey
    await sql.query("update users set language = 'es' where id = $1", [user.id])
    const outcome = await change(kind, initiator, { ...account, user: { ...user, language: 'es' } })
    expect(outcome).not.toHaveProperty('refused')

    const ofUser = [user.id, user.email]
    const mails = await sql.query<{ kind: string }>(
      `select kind from outgoing_mail where user_id = $1 or recipient = $2 or (kind = 'account-deleted' and $3)`,
      [...ofUser, row.webhook === 'user.deleted'],
    )
    expect(new Set(mails.map((mail) => mail.kind))).toEqual(new Set(row.mail === null ? [] : [row.mail]))
    // As long as a change of the language can be undone, mails are in the former language.
    const language = kind === 'language_changed' ? changeDetails[kind].undo.former : 'es'
    if (row.mail !== null) expect((await latchkey.mailTo(user.email, /./)).html).toContain(`<html lang="${language}">`)

    const webhooks = await sql.query<{ type: string; data: { factor?: string } }>(
      'select type, data from outgoing_webhooks where user_id = $1 order by created_at',
      [user.id],
    )
    expect(webhooks.map(({ type, data }) => [type, data.factor].filter(Boolean).join(' ')).sort()).toEqual(
      webhooksFor(kind).sort(),
    )

    const events = await sql.query<{ kind: string }>(
      "select kind from events where (user_id = $1 or reason = $1::text) and kind not like 'mail_%'",
      [user.id],
    )
    expect(events.map((event) => event.kind)).toEqual(row.event === null ? [] : [row.event])

    const undos = await sql.query<{ kind: string }>(
      `select kind || case when former_secret is null then '' else '_replaced' end as kind
       from undos where user_id = $1 and email = $2`,
      ofUser,
    )
    expect(undos.map((undo) => undo.kind)).toEqual(row.undo === null ? [] : [row.undo])

    const sessions = await sql.query<{ id: string; generation: number }>(
      'select id, generation from sessions where user_id = $1',
      [user.id],
    )
    const own_ = sessions.find(({ id }) => id === own)
    expect(sessions.some(({ id }) => id === other)).toBe(row.otherSessions.startsWith('stay'))
    const ended = await sql.query<{ reason: string | null }>('select reason from ended_sessions where sid = $1', [
      other,
    ])
    // A user who is deleted by plain SQL, as above, gives no reason.
    const goesOn = row.otherSessions === 'stay with new groups'
    const reason = row.webhook === 'user.deleted' || goesOn ? null : row.event
    expect(ended).toEqual(row.otherSessions === 'stay' ? [] : [{ reason }])
    const hasCaller = initiator !== 'operator'
    if (row.thisSession === 'ends') expect(own_).toBeUndefined()
    else if (hasCaller)
      expect(own_?.generation).toBe(row.thisSession === 'new tokens' && initiator !== 'sign-in' ? 1 : 0)

    for (const [voided, statement] of Object.entries(voidable) as [Voided, string][])
      expect([voided, (await sql.query(statement, [user.id])).length === 0]).toEqual([voided, isVoided(row, voided)])
  })

  it('that is refused leaves nothing of what was written before, whoever causes it', async () => {
    const account = await prepareAccount(latchkey.sql, latchkey.app.rooms, 'refused')
    const { accountChanges } = latchkey.app.rooms
    const caller = { userId: account.user.id, sessionId: account.own, generation: 0 }
    const context = { userId: account.user.id, client, caller }
    const writeAndRefuse = async (sql: Transaction, user: { id: string }) => {
      const [written] = await sql.query("update users set name = 'Written' where id = $1 returning name", [user.id])
      expect(written).toEqual({ name: 'Written' })
      return refuse('not_this_time', { reason: 'test' })
    }
    for (const outcome of [
      await accountChanges.byCaller(context, 'name_changed', writeAndRefuse),
      await accountChanges.byCaller(context, 'password_changed', writeAndRefuse),
      await accountChanges.byLink(context, 'password_reset', writeAndRefuse),
      await accountChanges.byOperator(context, 'email_set', writeAndRefuse),
      await accountChanges.byOldToken(context, 'session_stolen', writeAndRefuse),
    ])
      expect(outcome).toEqual({ refused: 'not_this_time', reason: 'test' })
    expect(await latchkey.sql.query('select name from users where id = $1', [account.user.id])).toEqual([
      { name: null },
    ])
  })

  it('that is refused after a right code has not used the code up', async () => {
    const { user } = await prepareAccount(latchkey.sql, latchkey.app.rooms, 'code-kept')
    await latchkey.sql.query("insert into totp_secrets values ($1, 'sealed', now(), 0)", [user.id])
    const codes = await latchkey.sql.transaction((sql) => latchkey.app.rooms.factors.renewRecoveryCodes(sql, user.id))
    const code = String(codes?.[0])
    const prove = (isRefusing: boolean) =>
      latchkey.app.rooms.factors.prove({ userId: user.id, code, client, device: undefined }, async (_, __, accept) => {
        if (!(await accept())) return refuse('wrong_second_factor')
        return isRefusing ? refuse('not_this_time') : 'proven'
      })
    expect(await prove(true)).toEqual({ refused: 'not_this_time' })
    expect(await prove(false)).toBe('proven')
    expect(await prove(false)).toEqual({ refused: 'wrong_second_factor' })
    const used = "select 1 from events where user_id = $1 and kind = 'recovery_code_used'"
    expect(await latchkey.sql.query(used, [user.id])).toHaveLength(1)
  })

  it('that sends a mail is limited for each account, and one that sends none is not counted', async () => {
    const thief = await latchkey.signedUp('flooded')
    const patch = (body: object) => thief.send('PATCH', '/api/auth/account', body, { csrf: true })
    for (const turn of Array.from({ length: 30 }).keys()) {
      expect((await patch({ name: `Name ${turn}` })).status).toBe(200)
      expect((await patch({ language: turn % 2 === 0 ? 'de' : 'fr' })).status).toBe(200)
    }
    const refused = await patch({ language: 'de' })
    expect([refused.status, refused.body]).toEqual([429, { error: 'Too many requests', message: 'Please slow down' }])
    expect(Number(refused.headers.get('retry-after'))).toBeGreaterThan(0)
    expect((await patch({ name: 'Another name' })).status).toBe(200)
    expect((await thief.act('/api/auth/logout-all')).status).toBe(204)
  })

  it('with a column left out does not compile', () => {
    const row = {
      by: ['caller'],
      otherSessions: 'end',
      thisSession: 'new tokens',
      provesUser: true,
      withdrawsProofs: [],
      voids: ['waiting sign-ins'],
      mail: 'password-changed',
      undo: 'password',
    } as const satisfies ChangeRow
    const { by: _, ...withoutInitiator } = row
    const { otherSessions: _others, ...withoutOtherSessions } = row
    const { thisSession: _own, ...withoutThisSession } = row
    const { withdrawsProofs: _proofs, ...withoutProofs } = row
    const { provesUser: _proves, ...withoutUser } = row
    const { voids: _voids, ...withoutVoids } = row
    const { undo: _undo, ...withoutUndo } = row
    const planted: ChangeRow[] = [
      // @ts-expect-error Who may is missing.
      withoutInitiator,
      // @ts-expect-error What happens to other sessions is missing.
      withoutOtherSessions,
      // @ts-expect-error What happens to the caller's session is missing.
      withoutThisSession,
      // @ts-expect-error Which proofs do not count in the new tokens is missing.
      withoutProofs,
      // @ts-expect-error Whether the user was proven is missing.
      withoutUser,
      // @ts-expect-error What is voided is missing.
      withoutVoids,
      // @ts-expect-error Whether the mail has an undo link is missing.
      withoutUndo,
      // @ts-expect-error A change that ends sessions leaves sign-ins waiting, and does not say why.
      { ...row, voids: [] },
      // @ts-expect-error A change that ends sessions has no event.
      { ...row, event: null },
    ]
    expect(planted).toHaveLength(9)
    // @ts-expect-error The name of the passkey and its id are missing.
    const incomplete: ChangeDetails<'passkey_added'> = {}
    expect(incomplete).toEqual({})
  })
})
