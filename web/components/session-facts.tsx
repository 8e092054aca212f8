import { deviceName } from '#contract/device-names.js'
import type { Session } from '#contract/schemas.js'
import { useSettings, useWords } from '../hooks/settings.js'
import type { Words } from '../words/catalogue.js'
import { dateWithSeconds, fullDate, isNow, timeAgo } from '../words/dates.js'
import { fill } from '../words/format.js'

/** The name of a session. A device without a browser is named after its application. */
const sessionName = (session: Omit<Session, 'current'>, words: Words['dashboard']) =>
  session.application === null
    ? deviceName(session, words)
    : fill(words.sessionOfDevice, { application: session.application })

/** A browser may have several sessions. The time of the sign-in tells their buttons apart. */
export const endSessionLabel = (session: Session, words: Words['dashboard'], locale: string) =>
  fill(words.endSessionOf, {
    device: sessionName(session, words),
    ip: session.ip,
    date: dateWithSeconds(session.createdAt, locale),
  })

/** How the user signed in, such as "password and code from the app". Methods that this page does not know are left out. */
export const proofText = (
  { methods, provider }: Pick<Session, 'methods' | 'provider'>,
  providers: readonly { id: string; name: string }[],
  words: Words['dashboard'],
  locale: string,
) => {
  const names: Readonly<Record<string, string>> = {
    ...words.sessionMethods,
    provider: providers.find(({ id }) => id === provider)?.name ?? words.sessionMethods.provider,
  }
  const knownMethods = methods.flatMap((method) => names[method] ?? [])
  return new Intl.ListFormat(locale, { type: 'conjunction' }).format(knownMethods)
}

type Props = {
  session: Omit<Session, 'current'>
  isCurrent?: boolean
  /** Pass it for administrators, who may be in another time zone than the user. */
  dateOf?: (moment: string, locale: string) => string
}

/** The device of a session, when and where it was used, and how its user has signed in. */
export const SessionFacts = ({ session, isCurrent = false, dateOf = fullDate }: Props) => {
  const words = useWords('dashboard')
  const { locale, providers } = useSettings()
  const methods = proofText(session, providers, words, locale)
  const facts = [
    isCurrent || isNow(session.lastUsedAt)
      ? words.activeNow
      : fill(words.lastUsed, { when: timeAgo(session.lastUsedAt, locale) }),
    session.ip,
    fill(words.sessionSince, { date: dateOf(session.createdAt, locale) }),
    ...(methods ? [fill(words.sessionProof, { methods })] : []),
    ...(session.bound ? [words.sessionBound] : []),
    ...(session.administers ? [words.sessionAdministers] : []),
  ]
  return (
    <div class="row-text">
      <strong>
        {sessionName(session, words)} {isCurrent && <span class="badge">{words.thisDevice}</span>}
      </strong>
      <span class="dotted">
        {facts.map((fact) => (
          <span key={fact}>{fact} </span>
        ))}
      </span>
    </div>
  )
}
