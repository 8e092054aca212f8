import type { Account } from '#contract/schemas.js'
import { Button } from '../components/button.js'
import { EditFields } from './edit-fields.js'
import { editableFields, type FieldName, useFieldWords } from './editable-fields.js'
import { useKeptForm } from './kept-form.js'
import { AccountPanel } from './section.js'

const names = ['name', 'username'] as const satisfies FieldName[]

/** The names of the user, and the groups that an administrator has chosen. */
export const NamesPanel = ({ account }: { account: Account }) => {
  const words = useFieldWords()
  const { edit } = words.account
  const { isOpen, setOpen, containerProps } = useKeptForm('names', account, edit)
  return (
    <AccountPanel place="names" title={words.account.names}>
      <dl class="facts">
        {/* While the user edits the names, the form shows them. */}
        {!isOpen &&
          names.map((name) => {
            const { label, display } = editableFields[name]
            const { text, isGiven = true } = display(account, words)
            return (
              <div key={name}>
                <dt>{label(words)}</dt>
                <dd class={isGiven ? undefined : 'not-given'}>{text}</dd>
              </div>
            )
          })}
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
          <EditFields names={names} account={account} onDone={() => setOpen(false)} />
        ) : (
          <Button onPress={() => setOpen(true)}>{edit}</Button>
        )}
      </div>
    </AccountPanel>
  )
}
