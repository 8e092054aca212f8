import { useState } from 'preact/hooks'
import type { Account, AccountEvent, Factors, Session } from '#contract/schemas.js'
import { siteStorage } from '../browser/storage.js'
import { Button } from '../components/button.js'
import { InfoIcon } from '../components/icons.js'
import { HelpLink, Notice } from '../components/notice.js'
import { Panel } from '../components/panel.js'
import { SignOutButton } from '../components/sign-out.js'
import { moveFocusTo } from '../hooks/focus.js'
import { useSettings, useWords } from '../hooks/settings.js'
import { passkeySupport } from '../sign-in/passkeys.js'
import { countText, fill } from '../words/format.js'
import { EventList } from './devices.js'
import { firstToDo } from './to-do.js'

export const PageTitle = ({ account }: { account: Account | undefined }) => {
  const words = useWords('dashboard')
  return (
    <div class="page-title">
      <div>
        <h1>{words.title}</h1>
        <p class="greeting">{account ? fill(words.greeting, { name: account.name ?? account.username }) : '\u00a0'}</p>
      </div>
      <SignOutButton />
    </div>
  )
}

/** The most urgent advice, with a link to its panel. Shows nothing if there is none. */
export const ToDoLine = ({ account, factors }: { account: Account; factors: Factors | undefined }) => {
  const { toDo } = useWords('dashboard')
  const { locale, providers, secondFactor, mailSignIn, mailIsOff } = useSettings()
  const canAddPasskey = passkeySupport() === 'yes'
  const ways = { mailSignIn, mailIsOff, canAddPasskey, providers: providers.map(({ id }) => id) }
  const mostUrgent = firstToDo({ account, factors, secondFactor, ...ways })
  if (!mostUrgent) return null
  const { text, action } = toDo[mostUrgent.name]
  return (
    <div class="notice to-do">
      <InfoIcon />
      <p>
        {typeof text === 'string' ? text : countText(text, factors?.recoveryCodes.left ?? 0, locale)}{' '}
        <a href={`#${mostUrgent.place}`}>{action}</a>
      </p>
    </div>
  )
}

/** Kept in each browser, so that a thief who has seen the events in another one does not hide them from the owner. */
const keyOf = (userId: string) => `latchkey.seen-activity.${userId}`

/**
 * What a mail would have told the owner, where nothing is mailed or the address was never proven. It comes first until the owner has looked at it. What the user changes on
 * this page is not added, because they know of it.
 */
export const RecentSecurity = ({ userId, events }: { userId: string; events: readonly AccountEvent[] }) => {
  const { recentSecurity: words } = useWords('dashboard')
  const [lastSeen, setLastSeen] = useState(() => siteStorage.read(keyOf(userId)) ?? '')
  // The ids of events are ordered by time.
  const unseen = events.filter(({ id }) => id > lastSeen)
  const [newest] = unseen
  if (!newest) return null
  const close = () => {
    siteStorage.write(keyOf(userId), newest.id)
    setLastSeen(newest.id)
    moveFocusTo(document.querySelector('h1'))
  }
  return (
    <div class="recent-security">
      <Panel title={words.title} lead={words.lead}>
        <EventList events={unseen} />
        <p class="panel-lead">
          {words.notYou} <HelpLink />
        </p>
        <Button onPress={close}>{words.seen}</Button>
      </Panel>
    </div>
  )
}

const closedKey = 'latchkey.used-recovery-code'

/** So many codes are made at a time. If all of them are left, the user has made new ones since. */
const recoveryCodeCount = 10

type Props = { sessions: Session[] | undefined; factors: Factors | undefined; onReplaceApp: () => Promise<void> }

/** A notice after a sign-in with a recovery code. It stays until the user closes it, sets up the app again or makes new codes. */
export const UsedRecoveryCode = ({ sessions, factors, onReplaceApp }: Props) => {
  const words = useWords('two-step')
  const { locale } = useSettings()
  const [closedUse, setClosedUse] = useState(() => siteStorage.read(closedKey))
  const session = sessions?.find(({ current }) => current)
  const left = factors?.recoveryCodes.left ?? 0
  const thisUse = `${session?.id} ${left}`
  if (!factors?.totp || !session?.methods.includes('rec') || left === recoveryCodeCount || closedUse === thisUse)
    return null
  if (new Date(factors.totp.createdAt) > new Date(session.createdAt)) return null
  const close = () => {
    siteStorage.write(closedKey, thisUse)
    setClosedUse(thisUse)
  }
  const actions = (
    <div class="button-row">
      <Button onPress={onReplaceApp}>{words.replaceApp}</Button>
      <a class="button quiet" href="#two-step">
        {words.title}
      </a>
    </div>
  )
  return (
    <div class="used-recovery-code">
      <Notice kind="info" after={actions} onClose={close}>
        {`${fill(words.usedCode, { left: countText(words.codesLeft, left, locale) })} ${words.newPhone}`}
      </Notice>
    </div>
  )
}
