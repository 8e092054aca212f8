import type { Account } from '#contract/schemas.js'
import { Button } from '../components/button.js'
import { Panel } from '../components/panel.js'
import { useDisclosure } from '../hooks/focus.js'
import { ChangeEmail } from './change-email.js'
import { EditNames } from './edit-names.js'
import { editableFieldsInOrder, useFieldWords } from './editable-fields.js'

export const AccountPanel = ({ account }: { account: Account }) => {
  const words = useFieldWords()
  const { edit } = words.account
  const { isOpen, setOpen, containerProps } = useDisclosure({ 'aria-label': edit })
  return (
    <Panel title={words.dashboard.account}>
      <dl class="facts">
        {editableFieldsInOrder.map(([name, { label, shown }]) => {
          const value = shown(account, words)
          return (
            <div key={name}>
              <dt>{label(words)}</dt>
              {'text' in value ? <dd lang={value.lang}>{value.text}</dd> : <dd class="not-given">{value.notGiven}</dd>}
            </div>
          )
        })}
        <div>
          <dt>{words.common.email}</dt>
          <dd>{account.email}</dd>
        </div>
        {account.groups.length > 0 && (
          <div>
            <dt>{words.dashboard.groups}</dt>
            {account.groups.map((name) => (
              <dd key={name}>{name}</dd>
            ))}
          </div>
        )}
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
