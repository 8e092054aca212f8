import type { Sql } from '../../platform/database/database.js'
import type { Config } from '../../settings/config.js'
import { type Finding, ok, warning, worstOf } from './check.js'

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

/** Checks who can create an account and, if the database is open, whether there is a user or an invitation at all. */
export const checkRegistration = async (config: Config, sql?: Sql): Promise<Finding> => {
  const emptyFinding =
    sql && config.registration !== 'open' && (await isEmpty(sql))
      ? warning(
          'there is no user yet: `latchkey setup-link` prints the link with which the first administrator makes the account',
        )
      : ok('')
  const mail = sql ? await mailFinding(config, sql) : ok('')
  return worstOf(whoMayRegister(config), [...settingFindings(config), emptyFinding, mail])
}
