import type { ComponentChildren } from 'preact'
import { isLanguage, languages, ownNameOf } from '#contract/languages.js'
import { longestName } from '#contract/name-lengths.js'
import type { Account, AccountPatch } from '#contract/schemas.js'
import { Field, SelectField } from '../components/field.js'
import { useSettings, useWords } from '../hooks/settings.js'

export const useFieldWords = () => ({
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
export const editableFields: { [Name in keyof Omit<AccountPatch, 'fields'>]-?: EditableField<AccountPatch[Name]> } = {
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

export type FieldName = keyof typeof editableFields

export const changesOf = (
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
