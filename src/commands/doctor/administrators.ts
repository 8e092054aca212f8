import { countText } from '../../lib/text.js'
import type { Database, Sql } from '../../platform/database/database.js'
import type { Config } from '../../settings/config.js'
import { type Check, type Finding, ok, warning, worstOf } from './check.js'

type Members = { exists: boolean; members: number; with_factor: number }

/** A passkey of an earlier host proves nothing here. */
const countMembers = async (sql: Sql, group: string, { publicUrl }: Pick<Config, 'publicUrl'>) => {
  const [row] = await sql.query<Members>(
    `select exists (select 1 from groups where name = $1::text) as exists, count(*)::int as members,
       (count(*) filter (where exists (select 1 from totp_secrets as t where t.user_id = u.id)
          or exists (select 1 from passkeys as p where p.user_id = u.id and p.relying_party = $2)))::int as with_factor
     from users as u where u.groups @> array[$1::text] and u.groups <> '{}' and u.disabled_at is null`,
    [group, new URL(publicUrl).hostname],
  )
  return row ?? { exists: false, members: 0, with_factor: 0 }
}

/** Members without a second factor are no fault with SECOND_FACTOR=required, because their next sign-in asks for one. */
const judgeGroup = (setting: string, group: string, counts: Members, isFactorRequired: boolean): Finding => {
  if (!counts.exists)
    return warning(
      `${setting} names the group ${group}, which does not exist: correct it, or \`latchkey group add ${group}\``,
    )
  if (counts.members === 0)
    return warning(`no user who can sign in is in ${group} (${setting}): \`latchkey user groups USER --add ${group}\``)
  if (counts.with_factor === 0 && !isFactorRequired)
    return warning(
      `no member of ${group} (${setting}) has a second factor, and the admin page needs one: they must add an authenticator app or a passkey to their account`,
    )
  return ok(`${group} has ${countText(counts.members, 'member')}, ${counts.with_factor} with a second factor`)
}

/** Before the first user, nobody can be an administrator. Afterwards there is no warning, because not everybody wants one. */
const withoutGroup = (hasUsers: boolean) =>
  ok(
    hasUsers
      ? 'there are none: ADMIN_GROUP is not set, and no setup has made their group'
      : 'the setup makes the first one: `latchkey setup-link` prints its link',
  )

const checkAdministrators = async (sql: Sql, config: Config): Promise<Finding> => {
  const { supportGroup, secondFactor } = config
  const [stored] = await sql.query<{ name: string | null; has_users: boolean }>(
    'select (select name from administrators_group) as name, exists (select 1 from users) as has_users',
  )
  const adminGroup = config.adminGroup ?? stored?.name ?? undefined
  if (adminGroup === undefined) return withoutGroup(stored?.has_users ?? false)
  const findings: Finding[] = []
  for (const [setting, group] of [
    [config.adminGroup === undefined ? 'made by the setup' : 'ADMIN_GROUP', adminGroup],
    ['SUPPORT_GROUP', supportGroup],
  ] as const)
    if (group !== undefined)
      findings.push(judgeGroup(setting, group, await countMembers(sql, group, config), secondFactor === 'required'))
  return worstOf(findings.map(({ says }) => says).join('; '), findings)
}

type WithDatabase = (check: (database: Database) => Promise<Finding>) => Check['run']

/** The groups of administrators and of support, unless ADMIN_GROUP is empty. */
export const administratorChecks = (config: Config, withDatabase: WithDatabase): Check[] =>
  config.adminGroup === null
    ? []
    : [{ name: 'administrators', run: withDatabase((database) => checkAdministrators(database, config)) }]
