import type { Account } from '#contract/schemas.js'
import { useSettings, useWords } from '../hooks/settings.js'
import { ChangeEmail } from './change-email.js'
import { AccountPanel } from './section.js'

/** Shows the email address. Where nothing is mailed, no address can be confirmed, so only an administrator can change it. */
export const EmailPanel = ({ account }: { account: Account }) => {
  const words = useWords('dashboard')
  const { email } = useWords('common')
  const { mailIsOff } = useSettings()
  return (
    <AccountPanel
      place="email"
      title={email}
      state={{ text: account.email }}
      lead={mailIsOff ? words.emailByAdministrator : undefined}
    >
      {!mailIsOff && <ChangeEmail account={account} />}
    </AccountPanel>
  )
}
