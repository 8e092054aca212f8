import type { Account } from '#contract/schemas.js'
import { setPasswordPath, withReturnTo } from '../browser/navigation.js'
import { useWords } from '../hooks/settings.js'
import { ChangeEmail } from './change-email.js'
import { AccountPanel } from './section.js'

/** Shows the email address. An address that an administrator has entered is not proven; the mailed link to set a password proves it. */
export const EmailPanel = ({ account }: { account: Account }) => {
  const words = useWords('dashboard')
  const { email } = useWords('common')
  const { emailProven: isProven } = account
  return (
    <AccountPanel
      place="email"
      title={email}
      state={{ text: account.email }}
      lead={isProven ? undefined : words.emailNotProven}
    >
      {!isProven && (
        <a class="button" href={withReturnTo(setPasswordPath, location.pathname)}>
          {words.proveEmail}
        </a>
      )}
      <ChangeEmail account={account} />
    </AccountPanel>
  )
}
