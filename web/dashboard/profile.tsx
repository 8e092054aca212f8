import type { ComponentChildren } from 'preact'
import type { Refusal } from '#client/client.js'
import { isLanguage, languages, ownNameOf } from '#contract/languages.js'
import { longestName } from '#contract/name-lengths.js'
import type { ProfileFieldDefinition } from '#contract/profile-fields.js'
import type { Account, AccountPatch } from '#contract/schemas.js'
import { chosenUsernameRefusal, normalizedUsername } from '#contract/usernames.js'
import { client } from '../browser/client.js'
import { Button } from '../components/button.js'
import { Field, SelectField } from '../components/field.js'
import { type FieldProblems, Form, type Problems, type Values } from '../components/form.js'
import {
  changedFields,
  ProfileFieldInputs,
  useFieldLabel,
  useFieldProblems,
  useShownValue,
} from '../components/profile-fields.js'
import { useSettings, useWords } from '../hooks/settings.js'
import { fullDate } from '../words/dates.js'
import { useProblems, usernameRefusals } from '../words/refusals.js'
import { useDashboardActions, useFormProblems, useKeptForm } from './panels.js'
import { AccountPanel } from './sections.js'

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

const fieldOfRefusal = { ...usernameRefusals, too_many_usernames: 'username' }

type EditProps = { names: readonly FieldName[]; account: Account; onDone: () => void }

const useChanges = ({ names, account, onDone }: EditProps) => {
  const words = useWords('account-life')
  const refusals = useWords('refusals')
  const actions = useDashboardActions()
  const { locale } = useSettings()
  const dateOf = ({ freeFrom = '' }: Refusal) => ({ date: freeFrom && fullDate(freeFrom, locale) })
  const problemsOf = useFormProblems(useProblems(fieldOfRefusal, dateOf))

  const check = async ({ username = '' }: Values, invalid: FieldProblems): Promise<FieldProblems> => {
    const isUnchanged = !names.includes('username') || username.trim() === account.username
    const code = invalid.username || isUnchanged ? undefined : chosenUsernameRefusal(normalizedUsername(username))
    return code ? { ...invalid, username: [refusals[code]] } : invalid
  }

  const submit = async (values: Values): Promise<Problems | undefined> => {
    const changes = changesOf(names, values, account)
    if (Object.keys(changes).length === 0) return { notice: words.nothingChanged }
    const answer = await actions.withFreshSignIn(() => client.changeAccount(changes))
    if (answer.refused) return problemsOf(answer)
    onDone()
    actions.showSuccess(words.saved)
    await actions.reload()
    return undefined
  }

  return { check, submit }
}

/** A form for some of the `editableFields`. */
const EditFields = (props: EditProps) => {
  const { names, account, onDone } = props
  const words = useFieldWords()
  const { check, submit } = useChanges(props)
  return (
    <>
      <Form submitLabel={words.account.save} check={check} onSubmit={submit}>
        {names.map((name, index) => {
          const { Input } = editableFields[name]
          return <Input key={name} account={account} words={words} focused={index === 0} />
        })}
      </Form>
      <Button look="quiet" onPress={onDone}>
        {words.dashboard.cancel}
      </Button>
    </>
  )
}

const useFieldWords = () => ({
  common: useWords('common'),
  dashboard: useWords('dashboard'),
  account: useWords('account-life'),
})
type FieldWords = ReturnType<typeof useFieldWords>

type InputProps = { account: Account; words: FieldWords; focused: boolean }
type EditableField<Value> = {
  label: (words: FieldWords) => string
  display: (account: Account, words: FieldWords) => { text: string; lang?: string; isGiven?: boolean }
  Input: (props: InputProps) => ComponentChildren
  /** The value to send; undefined if the user has not changed it. */
  changedValue: (typed: string, account: Account) => Value | undefined
}

const NameInput = ({ account, words, focused }: InputProps) => (
  <Field
    name="name"
    label={words.dashboard.name}
    autoComplete="name"
    required={false}
    maxLength={longestName}
    defaultValue={account.name ?? ''}
    hint={words.account.nameHint}
    focused={focused}
  />
)

const UsernameInput = ({ account, words, focused }: InputProps) => (
  <Field
    name="username"
    label={words.common.username}
    autoComplete="username"
    defaultValue={account.username}
    hint={`${words.common.usernameRule} ${words.account.usernameHint}`}
    focused={focused}
  />
)

const LanguageInput = ({ account, words }: InputProps) => {
  const { language } = useSettings()
  return (
    <SelectField
      name="language"
      label={words.account.language}
      hint={words.account.languageHint}
      choices={languages.map((each) => ({ value: each, label: ownNameOf(each), lang: each }))}
      defaultValue={account.language ?? language}
    />
  )
}

/** The fields that users can edit in their account. If this table misses a field of the contract, it does not compile. */
const editableFields: { [Name in keyof Omit<AccountPatch, 'fields'>]-?: EditableField<AccountPatch[Name]> } = {
  name: {
    label: ({ dashboard }) => dashboard.name,
    display: ({ name }, { dashboard }) => (name === null ? { text: dashboard.noName, isGiven: false } : { text: name }),
    Input: NameInput,
    changedValue: (typed, { name }) => (typed.trim() === (name ?? '') ? undefined : typed.trim()),
  },
  username: {
    label: ({ common }) => common.username,
    display: ({ username }) => ({ text: username }),
    Input: UsernameInput,
    changedValue: (typed, { username }) => (typed.trim() === username ? undefined : typed.trim()),
  },
  language: {
    label: ({ account }) => account.language,
    display: ({ language }, { account }) =>
      language === null ? { text: account.noLanguage, isGiven: false } : { text: ownNameOf(language), lang: language },
    Input: LanguageInput,
    changedValue: (typed, { language }) => (isLanguage(typed) && typed !== language ? typed : undefined),
  },
}

type FieldName = keyof typeof editableFields

const changesOf = (
  names: readonly FieldName[],
  typed: Readonly<Record<string, string>>,
  account: Account,
): AccountPatch =>
  Object.fromEntries(
    names.flatMap((name) => {
      const value = editableFields[name].changedValue(typed[name] ?? '', account)
      return value === undefined ? [] : [[name, value]]
    }),
  )

type FieldsProps = { account: Account; fields: readonly ProfileFieldDefinition[] }

/** The fields that the operator asks users for. A value that looks like a link does not become one. */
export const FieldsPanel = ({ account, fields }: FieldsProps) => {
  const words = useWords('profile-fields')
  const labelOf = useFieldLabel()
  const shownValue = useShownValue()
  const { isOpen, setOpen, containerProps } = useKeptForm('details', account, words.edit)
  const fieldsOfUser = fields.filter(({ editedBy }) => editedBy === 'user')
  // While the user edits, the form shows the editable fields.
  const shownFields = isOpen ? fields.filter((field) => !fieldsOfUser.includes(field)) : fields
  return (
    <AccountPanel place="details" title={words.title}>
      <dl class="facts">
        {shownFields.map((definition) => {
          const value = Object.hasOwn(account.fields, definition.key) ? account.fields[definition.key] : undefined
          return (
            <div key={definition.key}>
              <dt>{labelOf(definition)}</dt>
              {value === undefined ? (
                <dd class="not-given">{words.notGiven}</dd>
              ) : (
                <dd>{shownValue(definition, value)}</dd>
              )}
            </div>
          )
        })}
      </dl>
      {fieldsOfUser.length > 0 && (
        <div {...containerProps}>
          {isOpen ? (
            <EditProfileFields account={account} fields={fieldsOfUser} onDone={() => setOpen(false)} />
          ) : (
            <Button onPress={() => setOpen(true)}>{words.edit}</Button>
          )}
        </div>
      )}
    </AccountPanel>
  )
}

const EditProfileFields = ({ account, fields, onDone }: FieldsProps & { onDone: () => void }) => {
  const accountWords = useWords('account-life')
  const { cancel } = useWords('dashboard')
  const actions = useDashboardActions()
  const fieldProblems = useFieldProblems()
  const problemsOf = useFormProblems(useProblems())

  const submit = async (values: Values): Promise<Problems | undefined> => {
    const changes = changedFields(values, fields, account.fields)
    const answer = await actions.withFreshSignIn(() => client.changeAccount({ fields: changes }))
    if (answer.refused) return fieldProblems(answer) ?? problemsOf(answer)
    onDone()
    actions.showSuccess(accountWords.saved)
    await actions.reload()
    return undefined
  }

  return (
    <>
      <Form submitLabel={accountWords.save} onSubmit={submit}>
        <ProfileFieldInputs definitions={fields} values={account.fields} focused />
      </Form>
      <Button look="quiet" onPress={onDone}>
        {cancel}
      </Button>
    </>
  )
}
