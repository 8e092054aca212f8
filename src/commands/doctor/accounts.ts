import { timeSpan } from '../../contract/time-spans.js'
import { countPasskeysByHost } from '../../factors/passkeys.js'
import { isOverdue, signingPeriod } from '../../keys/schedule.js'
import { sealedColumns } from '../../keys/sealed-columns.js'
import { createSealedValues, howToAddKey } from '../../keys/sealed-values.js'
import { accessTokenKeys, createSigningKeys, idTokenKeys, type ListedKey } from '../../keys/signing-keys.js'
import { systemClock } from '../../lib/clock.js'
import { countText } from '../../lib/text.js'
import type { Database, Sql } from '../../platform/database/database.js'
import { keptSecrets } from '../../platform/own-postgres/kept-secrets.js'
import type { Config } from '../../settings/config.js'
import { createLiveSettings } from '../../settings/live-settings.js'
import { type Finding, failure, ok, warning, worstOf } from './check.js'

type Members = { exists: boolean; members: number; with_factor: number }

/** A passkey of an earlier host proves nothing here. */
const countMembers = async (sql: Sql, group: string, { publicUrl }: Config) => {
  const [row] = await sql.query<Members>(
    `select exists (select 1 from groups where name = $1::text) as exists, count(*)::int as members,
       (count(*) filter (where exists (select 1 from second_factors as f
          where f.user_id = u.id and f.counts and (f.host is null or f.host = $2))))::int as with_factor
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

/** Checks the groups of administrators and of support. */
export const checkAdministrators = async (sql: Sql, config: Config): Promise<Finding> => {
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

/** Domains at which anyone can get an address. */
const publicMailboxes = new Set(
  'gmail.com googlemail.com outlook.com hotmail.com live.com yahoo.com icloud.com gmx.de gmx.net web.de proton.me mail.ru qq.com'.split(
    ' ',
  ),
)

const whoMayRegister = ({ registration, registrationDomains: domains }: Config) => {
  if (registration !== 'open') return `${registration}: a new account needs an invitation`
  return domains.length > 0
    ? `open for addresses of ${domains.join(', ')}, and by invitation`
    : 'open: anyone with an email address can create an account'
}

const settingFindings = ({ registration, registrationDomains: domains, smtpUrl }: Config): Finding[] => {
  const isOpen = registration === 'open'
  const publicDomains = isOpen ? domains.filter((domain) => publicMailboxes.has(domain)) : []
  return [
    !isOpen && domains.length > 0
      ? warning(
          `REGISTRATION_DOMAINS has no effect on new accounts while REGISTRATION is ${registration}: they need an invitation, which overrides it. It still limits changes of the email`,
        )
      : ok(''),
    publicDomains.length > 0
      ? warning(`anyone can get an address at ${publicDomains.join(', ')}, which REGISTRATION_DOMAINS names`)
      : ok(''),
    registration === 'invited' && !smtpUrl
      ? warning('invitations are mailed, but SMTP_URL is not set: give people the link that latchkey invite prints')
      : ok(''),
  ]
}

const isEmpty = async (sql: Sql) => {
  const [row] = await sql.query<{ empty: boolean }>(
    `select not exists (select 1 from users) and not exists (select 1 from invitations where expires_at > now()) as empty`,
  )
  return row?.empty ?? false
}

const maxCounted = 10_000

/** Counts users who can sign in only by mail, up to `maxCounted`. Imported users without a password are among them. */
const countByMailOnly = async (sql: Sql) => {
  const [row] = await sql.query<{ users: number }>(
    `select count(*)::int as users from (
       select 1 from users as u where u.password_hash is null and u.disabled_at is null
         and not exists (select 1 from identities as i where i.user_id = u.id)
         and not exists (select 1 from passkeys as p where p.user_id = u.id) limit $1
     ) as counted`,
    [maxCounted],
  )
  return row?.users ?? 0
}

const mailFinding = async ({ mailSignIn, mailIsOff }: Config, sql: Sql) => {
  if (mailSignIn === 'on') return ok('')
  const users = await countByMailOnly(sql)
  return users === 0
    ? ok('')
    : warning(
        `users who have no password, no provider and no passkey: ${users === maxCounted ? 'at least ' : ''}${users}. ${mailIsOff ? 'While mail is off, they need a link that latchkey user reset-link prints' : 'While MAIL_SIGN_IN is off, they need “Forgot password?” to sign in'}`,
      )
}

/** The settings as they are now: a file or an administrator may have changed them. */
const withLiveSettings = async (config: Config, database: Database | undefined): Promise<Config> => {
  if (!database) return config
  const liveSettings = createLiveSettings(config, database)
  await liveSettings.load()
  return { ...config, ...liveSettings.now() }
}

/** Checks who can create an account and, if the database is open, whether there is a user or an invitation at all. */
export const checkRegistration = async (given: Config, database?: Database): Promise<Finding> => {
  const config = await withLiveSettings(given, database)
  const emptyFinding =
    database && config.registration !== 'open' && (await isEmpty(database))
      ? warning(
          'there is no user yet: `latchkey setup-link` prints the link with which the first administrator makes the account',
        )
      : ok('')
  const mail = database ? await mailFinding(config, database) : ok('')
  return worstOf(whoMayRegister(config), [...settingFindings(config), emptyFinding, mail])
}

/** The secrets that seal stored values. */
const sealingSecretsOf = async ({ sealingKey, jwtSecret, dataDir }: SealingSettings) =>
  sealingKey ?? jwtSecret ?? (await keptSecrets(dataDir, 'jwt_secret')) ?? []

export type SealingSettings = Pick<Config, 'sealingKey' | 'jwtSecret' | 'dataDir'>

const asDate = (moment: Date) => moment.toISOString().slice(0, 10)

type TimedKey = { id: string; state: string; signsFrom: Date }

const findInState = (keys: readonly TimedKey[], state: 'current' | 'waiting') => keys.find((key) => key.state === state)

const signersText = (current: TimedKey, waiting: TimedKey | undefined) =>
  `${current.id} signs since ${asDate(current.signsFrom)}${waiting ? `, ${waiting.id} from ${waiting.signsFrom.toISOString()}` : ''}`

/** Checks which key signs access tokens, how old it is, and whether the next key is waiting. */
export const checkSigningKeys = async (
  database: Database,
  config: SealingSettings & Pick<Config, 'accessTokenAlgorithm'>,
): Promise<Finding> => {
  const sealedValues = createSealedValues(await sealingSecretsOf(config), sealedColumns)
  const keys = await createSigningKeys(accessTokenKeys, { database, clock: systemClock, sealedValues }).list()
  if (keys.some(({ state }) => state === 'unopened'))
    return failure('a signing key cannot be opened: use the SEALING_KEY of the other instances')
  const current = findInState(keys, 'current')
  const waiting = findInState(keys, 'waiting')
  if (config.accessTokenAlgorithm !== 'ES256')
    return ok(
      keys.length === 0
        ? 'JWT_SECRET signs access tokens'
        : `JWT_SECRET signs access tokens; ${countText(keys.length, 'key')} published`,
    )
  if (!current) return ok('the first start with ES256 makes a key')
  const says = signersText(current, waiting)
  return isOverdue(current.signsFrom, new Date()) && !waiting
    ? warning(
        `${says}: it is older than ${timeSpan(signingPeriod, 'en')}, and no running instance has ACCESS_TOKEN_ALGORITHM=ES256`,
      )
    : ok(says)
}

const judgeAlgorithm = (algorithm: string, keys: readonly ListedKey[]): Finding => {
  const keysOfAlgorithm = keys.filter((key) => key.algorithm === algorithm)
  const current = findInState(keysOfAlgorithm, 'current')
  const waiting = findInState(keysOfAlgorithm, 'waiting')
  if (!current) return ok(`${algorithm}: the running service makes a key`)
  const says = `${algorithm}: ${signersText(current, waiting)}`
  return isOverdue(current.signsFrom, new Date()) && !waiting
    ? warning(`${says}: it is older than ${timeSpan(signingPeriod, 'en')}, and no running instance has replaced it`)
    : ok(says)
}

const unreadableKeysText = (ids: readonly string[]) =>
  `${ids.join(', ')}: ${countText(ids.length, 'retired key')} not sealed with SEALING_KEY, and not trusted. Unless you have removed a key from SEALING_KEY, another program has written into the table`

/** Checks the keys of ID tokens: one for each algorithm that applications use. */
export const checkApplicationKeys = async (database: Database, config: SealingSettings): Promise<Finding> => {
  const sealedValues = createSealedValues(await sealingSecretsOf(config), sealedColumns)
  const signingKeys = createSigningKeys(idTokenKeys, { database, clock: systemClock, sealedValues })
  const { usedAlgorithms } = await signingKeys.read()
  const keys = await signingKeys.list()
  if (keys.some(({ state }) => state === 'unopened'))
    return failure('a key of ID tokens cannot be opened: use the SEALING_KEY of the other instances')
  const unreadable = keys.filter(({ state }) => state === 'unreadable').map(({ id }) => id)
  const findings = [
    ...usedAlgorithms.map((algorithm) => judgeAlgorithm(algorithm, keys)),
    ...(unreadable.length > 0 ? [warning(unreadableKeysText(unreadable))] : []),
  ]
  return worstOf(findings.map(({ says }) => says).join('; ') || 'no application needs one', findings)
}

/**
 * Finds withdrawn keys that are in their table again. After a restore of the whole database they are not found: its events are
 * older, too.
 */
export const checkWithdrawnKeys = async (database: Database): Promise<Finding> => {
  const returnedKeys = await database.query<{ id: string }>(
    `with withdrawn as materialized (
       select split_part(reason, ';', 1) as ids from events where kind = 'signing_keys_withdrawn'
     )
     select k.id from (select id from signing_keys union all select id from application_keys) as k
     where exists (select 1 from withdrawn where position(k.id in ids) > 0) order by k.id`,
  )
  const ids = returnedKeys.map(({ id }) => id).join(', ')
  return returnedKeys.length === 0
    ? ok('no key has come back after it was withdrawn, as far as the events of this database tell')
    : failure(`${ids}: withdrawn as stolen, and trusted again. Run \`latchkey keys rotate --compromised --yes\``)
}

const sum = (numbers: readonly number[]) => numbers.reduce((total, each) => total + each, 0)

/** Finds out which keys the stored secrets need, and so which keys can be removed. It decrypts none of the secrets. */
export const checkSealedValues = async (
  sql: Sql,
  config: SealingSettings,
  columns = sealedColumns,
): Promise<Finding> => {
  const secrets = await sealingSecretsOf(config)
  const setting = config.sealingKey ? 'SEALING_KEY' : 'JWT_SECRET'
  const counts = await createSealedValues(secrets, columns).count(sql)
  const byFirst = sum(counts.map((each) => each.byFirst))
  const byOthers = sum(counts.map((each) => each.byOthers))
  const lostColumns = counts.filter(({ column, byMissing }) => !column.canDoWithout && byMissing > 0)
  const byMissing = sum(lostColumns.map((each) => each.byMissing))
  const waysOut = [...new Set(lostColumns.flatMap(({ column: { wayOut } }) => wayOut ?? []))]
  if (byMissing > 0)
    return failure(
      `the key of ${countText(byMissing, 'stored secret')} is missing, and the service does not start. ${howToAddKey}. ${waysOut.join(' ')}`.trimEnd(),
    )
  if (byOthers > 0)
    return warning(
      `${countText(byOthers, 'stored secret')} sealed with an old key of ${setting}: do not remove it. The next start of an instance seals them with the first key`,
    )
  const summary =
    byFirst === 0 ? 'no secrets are stored' : `${countText(byFirst, 'stored secret')}, sealed with ${setting}`
  return ok(secrets.length > 1 ? `${summary}; they need only the first of its ${secrets.length} keys` : summary)
}

/** A passkey works for the host that it was made for, and for no other. */
export const checkPasskeys = async (sql: Sql, { publicUrl }: { publicUrl: string }): Promise<Finding> => {
  const { hostname } = new URL(publicUrl)
  const { all, forOtherHosts } = await countPasskeysByHost(sql, hostname)
  if (forOtherHosts === 0) return ok(all === 0 ? 'none are stored' : `${countText(all, 'passkey')}, for ${hostname}`)
  return warning(
    `${forOtherHosts} of ${countText(all, 'passkey')} cannot be used: made for another host than ${hostname}. Put the earlier host back into PUBLIC_URL, or tell the users to add new ones`,
  )
}

/** Counts mails that the mail server did not take. It may answer the check `mail` and still refuse every mail. */
export const checkWaitingMails = async (sql: Sql): Promise<Finding> => {
  const [row] = await sql.query<{ failed: number }>(
    `select count(*)::int as failed from (
       select 1 from outgoing_mail where next_attempt_at is not null and last_error is not null limit $1
     ) as counted`,
    [maxCounted],
  )
  const failed = row?.failed ?? 0
  if (failed === 0) return ok('no mail waits after a failed attempt')
  const count = `${failed === maxCounted ? 'at least ' : ''}${countText(failed, 'mail waits', 'mails wait')}`
  return warning(`${count} after a failed attempt: \`latchkey mails list\` says why`)
}
