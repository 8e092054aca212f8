import type { Account, Factors } from '#contract/schemas.js'
import { InfoIcon } from '../components/icons.js'
import { SignOutButton } from '../components/sign-out.js'
import { useSettings, useWords } from '../hooks/settings.js'
import { passkeySupport } from '../sign-in/passkeys.js'
import { countText, fill } from '../words/format.js'
import { firstToDo } from './to-do.js'

export const PageTitle = ({ account }: { account: Account }) => {
  const words = useWords('dashboard')
  return (
    <div class="page-title">
      <div>
        <h1>{words.title}</h1>
        <p class="greeting">{fill(words.greeting, { name: account.name ?? account.username })}</p>
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
