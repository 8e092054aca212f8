import { ownNameOf } from '#contract/languages.js'
import type { Account } from '#contract/schemas.js'
import { Button } from '../components/button.js'
import { useDisclosure } from '../hooks/focus.js'
import { useWords } from '../hooks/settings.js'
import { ChangeEmail } from './change-email.js'
import { EditNames } from './edit-names.js'
import { Panel } from './panel.js'

export const AccountPanel = ({ account }: { account: Account }) => {
  const words = useWords('dashboard')
  const common = useWords('common')
  const { edit, language, noLanguage } = useWords('account-life')
  const { isOpen, setOpen, containerProps } = useDisclosure(edit)
  return (
    <Panel title={words.account}>
      <dl class="account-facts">
        <div>
          <dt>{words.name}</dt>
          <dd class={account.name === null ? 'not-given' : undefined}>{account.name ?? words.noName}</dd>
        </div>
        <div>
          <dt>{common.username}</dt>
          <dd>{account.username}</dd>
        </div>
        <div>
          <dt>{common.email}</dt>
          <dd>{account.email}</dd>
        </div>
        <div>
          <dt>{language}</dt>
          <dd lang={account.language ?? undefined} class={account.language === null ? 'not-given' : undefined}>
            {account.language === null ? noLanguage : ownNameOf(account.language)}
          </dd>
        </div>
      </dl>
      <div {...containerProps}>
        {isOpen ? (
          <EditNames account={account} onDone={() => setOpen(false)} />
        ) : (
          <Button onPress={() => setOpen(true)}>{edit}</Button>
        )}
      </div>
      <ChangeEmail account={account} />
    </Panel>
  )
}
