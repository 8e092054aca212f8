import type { Account } from '#contract/schemas.js'
import { Button } from '../components/button.js'
import { EditFields } from './edit-fields.js'
import { editableFields, useFieldWords } from './editable-fields.js'
import { useKeptForm } from './kept-form.js'
import { AccountPanel } from './section.js'

export const LanguagePanel = ({ account }: { account: Account }) => {
  const words = useFieldWords()
  const { changeLanguage, languageTitle } = words.account
  const { isOpen, setOpen, containerProps } = useKeptForm('language', account, changeLanguage)
  return (
    <AccountPanel
      place="language"
      title={languageTitle}
      // While the form is open, it shows the language.
      state={isOpen ? undefined : editableFields.language.display(account, words)}
    >
      <div {...containerProps}>
        {isOpen ? (
          <EditFields names={['language']} account={account} onDone={() => setOpen(false)} />
        ) : (
          <Button onPress={() => setOpen(true)}>{changeLanguage}</Button>
        )}
      </div>
    </AccountPanel>
  )
}
