import type { ComponentChildren } from 'preact'
import type { AdminUserDetails } from '#contract/admin/admin-bodies.js'
import { languageName } from '#contract/languages.js'
import { Panel } from '../components/panel.js'
import { useSettings, useWords } from '../hooks/settings.js'
import { dateWithZone } from '../words/dates.js'
import { fill } from '../words/format.js'
import { Ago, At } from './table.js'

export type Fact = [label: string, value: ComponentChildren]

/** A list of facts. Pass a muted word for a value that is missing. */
export const Facts = ({ facts }: { facts: Fact[] }) => (
  <dl class="facts">
    {facts.map(([label, value]) => (
      <div key={label}>
        <dt>{label}</dt>
        <dd>{value}</dd>
      </div>
    ))}
  </dl>
)

type Props = { user: AdminUserDetails }

export const AccountFacts = ({ user }: Props) => {
  const { user: words, columns } = useWords('admin')
  const { language } = useSettings()
  const notGiven = <span class="muted">{words.notGiven}</span>
  const proofText = user.emailProven ? words.emailProven : words.emailNotProven
  const facts: Fact[] = [
    [words.name, user.name ?? notGiven],
    [columns.email, `${user.email} (${proofText})`],
    [columns.lastSignIn, <Ago key="ago" moment={user.lastSignInAt} />],
    [columns.created, <At key="at" moment={user.createdAt} />],
    [words.language, user.language === null ? notGiven : languageName(user.language, language)],
    ...user.formerEmails.map(
      ({ email, replacedAt }): Fact => [
        words.formerEmails,
        <FormerEmail key={email} email={email} replacedAt={replacedAt} undos={user.undos} />,
      ],
    ),
    [words.id, <code key="id">{user.id}</code>],
  ]
  return (
    <Panel title={words.account}>
      <Facts facts={facts} />
    </Panel>
  )
}

type FormerEmailProps = Pick<AdminUserDetails, 'undos'> & AdminUserDetails['formerEmails'][number]

/** Also says whether a mailed link can still put the address back, which support can tell a user who has lost it to a thief. */
const FormerEmail = ({ email, replacedAt, undos }: FormerEmailProps) => {
  const { user: words } = useWords('admin')
  const { locale } = useSettings()
  const until = putBackUntil(undos, email)
  return (
    <div class="row-text">
      <span class="plain">{fill(words.until, { email, date: dateWithZone(replacedAt, locale) })}</span>
      <span>
        {until === undefined ? words.cannotBePutBack : fill(words.canBePutBack, { date: dateWithZone(until, locale) })}
      </span>
    </div>
  )
}

/** Until when a mailed link can put this address back; undefined if none can. */
export const putBackUntil = (undos: AdminUserDetails['undos'], email: string) =>
  undos
    .filter((undo) => undo.works && undo.email === email)
    .map(({ until }) => until)
    .sort()
    .at(-1)

export const FactorFacts = ({ user }: Props) => {
  const { user: words, yes, none } = useWords('admin')
  const { locale, providers } = useSettings()
  const muted = <span class="muted">{none}</span>
  const nameOf = (id: string) => providers.find((provider) => provider.id === id)?.name ?? id
  const facts: Fact[] = [
    [words.password, user.hasPassword ? yes : muted],
    [words.providers, user.providers.length === 0 ? muted : user.providers.map(nameOf).join(', ')],
    [words.totp, user.totp ? fill(words.since, { date: dateWithZone(user.totp.createdAt, locale) }) : muted],
    [words.recoveryCodes, user.recoveryCodesLeft || muted],
    [words.passkeys, user.passkeys || muted],
    [words.trustedDevices, user.trustedDevices || muted],
  ]
  return (
    <Panel title={words.waysIn}>
      <Facts facts={facts} />
    </Panel>
  )
}
