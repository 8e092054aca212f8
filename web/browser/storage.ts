import type { FieldValues, ProfileFieldChanges } from '#contract/profile-fields.js'

/** A browser may refuse storage altogether. Then nothing is kept, and nothing is found. */
const guardedStorage = (storage: () => Storage) => ({
  read: (key: string) => {
    try {
      return storage().getItem(key) ?? undefined
    } catch {
      return undefined
    }
  },
  /** Undefined removes what was there. */
  write: (key: string, value: string | undefined) => {
    try {
      if (value === undefined) storage().removeItem(key)
      else storage().setItem(key, value)
    } catch {
      // The browser refuses storage: nothing is kept.
    }
  },
})

/** For this tab only. */
export const tabStorage = guardedStorage(() => sessionStorage)

/** For all tabs of this site. */
export const siteStorage = guardedStorage(() => localStorage)

/** The fields that are kept. A password is never among them. */
type KeptField = 'username' | 'email' | 'name'

const keyOf = (field: KeptField) => `latchkey.typed.${field}`
const fields: KeptField[] = ['username', 'email', 'name']

/** The value that the visitor typed into another form of this tab, so that it need not be typed again on the next page or after "back". */
export const typedBefore = (field: KeptField) => tabStorage.read(keyOf(field))

export const keepTyped = (field: KeptField, value: string) => tabStorage.write(keyOf(field), value)

/** The login form has one field for a username or an email. */
export const loginTypedBefore = () => typedBefore('email') || typedBefore('username')

export const keepTypedLogin = (value: string) => {
  const isEmail = value.includes('@')
  keepTyped('email', isEmail ? value : '')
  keepTyped('username', isEmail ? '' : value)
}

const fieldsKey = 'latchkey.typed.fields'

/** The operator's fields of a registration that waits for its address to be confirmed. */
export const keepTypedFields = (typed: ProfileFieldChanges | undefined) =>
  tabStorage.write(fieldsKey, typed && JSON.stringify(typed))

export const fieldsTypedBefore = (): FieldValues => {
  try {
    const typed: unknown = JSON.parse(tabStorage.read(fieldsKey) ?? '{}')
    return typeof typed === 'object' && typed !== null ? (typed as FieldValues) : {}
  } catch {
    return {}
  }
}

/** Called after a sign-in or a finished registration. */
export const forgetTyped = () => {
  for (const field of fields) tabStorage.write(keyOf(field), undefined)
  keepTypedFields(undefined)
}

const unsavedKey = 'latchkey.typed.account'

/** Unsaved values of the forms of the account page, by the place of the form. Only the user who typed them gets them back. */
type Unsaved = { account: string; forms: Record<string, Record<string, string>> }

const readUnsaved = (account: string): Unsaved => {
  const nothing = { account, forms: {} }
  try {
    const unsaved = JSON.parse(tabStorage.read(unsavedKey) ?? 'null') as Unsaved | null
    return unsaved?.account === account ? unsaved : nothing
  } catch {
    return nothing
  }
}

export const keepUnsaved = (account: string, place: string, typed: Record<string, string>) => {
  const { forms } = readUnsaved(account)
  tabStorage.write(unsavedKey, JSON.stringify({ account, forms: { ...forms, [place]: typed } } satisfies Unsaved))
}

/** Returns the unsaved values and removes them, so they come back once. */
export const takeUnsaved = (account: string, place: string) => {
  const { forms } = readUnsaved(account)
  const { [place]: typed, ...others } = forms
  const isEmpty = Object.keys(others).length === 0
  tabStorage.write(unsavedKey, isEmpty ? undefined : JSON.stringify({ account, forms: others } satisfies Unsaved))
  return typed
}

/** Called after a sign-out that the user has chosen. */
export const forgetUnsaved = () => tabStorage.write(unsavedKey, undefined)

/** The browser saves the text as a file. */
export const saveFile = (text: string, name: string, type: string) => {
  const address = URL.createObjectURL(new Blob([text], { type }))
  const link = Object.assign(document.createElement('a'), { href: address, download: name })
  link.click()
  URL.revokeObjectURL(address)
}
