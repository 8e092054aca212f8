import { isLanguage } from '../contract/languages.js'
import { longestName } from '../contract/name-lengths.js'
import { type BuiltInField, builtInFieldNames } from '../contract/schemas.js'

import { displayName } from './names.js'

/**
 * The columns `name` and `language` of the table `users`. They are in every installation, unlike the fields that an operator defines
 * (`profile-fields`).
 */
export type StoredBuiltInFields = Record<BuiltInField, string | null>
export const builtInColumns = Object.fromEntries(builtInFieldNames.map((name) => [name, true])) as Record<
  BuiltInField,
  true
>

export type Reader = {
  /** The longest text that an import accepts. */
  longest: number
  /** Reads a text from the form of the account page, or from a request like it. */
  typed: (text: string | null) => string | null
  /** Reads a text from a row of an import. Null: the value is ignored. `broken`: a sentence that says why the import refuses the value. */
  imported: (text: string) => string | null | { broken: string }
  /**
   * Reads a text from the table. Null or undefined: the user has no value, or one that this release does not know, because a newer
   * release, a provider or plain SQL has written it.
   */
  stored: (text: string | null) => string | null | undefined
  /** The text for an export, in a form that the import accepts. */
  exported: (text: string | null) => string | null
}

/** How the values of each field are read, by the place that they come from. */
export const builtInFieldReaders = {
  name: {
    longest: longestName,
    typed: (text) => displayName(text),
    imported: (text) => displayName(text),
    stored: (text) => text,
    exported: (text) => displayName(text),
  },
  language: {
    longest: 255,
    typed: (code) => code,
    /** Accepts `de` or `de-AT`. A language in which we have no mails is ignored. The first sign-in then sets the user's language. */
    imported: (text) => {
      const [code = ''] = text.toLowerCase().split(/[-_]/)
      return isLanguage(code) ? code : null
    },
    stored: (text) => (isLanguage(text) ? text : undefined),
    exported: (text) => text,
  },
} as const satisfies Record<BuiltInField, Reader>

/** The values of a user, as this release reads them. */
export type BuiltInValues = { [Name in BuiltInField]: ReturnType<(typeof builtInFieldReaders)[Name]['stored']> }

export const readBuiltInFields = (row: StoredBuiltInFields) =>
  Object.fromEntries(
    builtInFieldNames.map((name) => [name, builtInFieldReaders[name].stored(row[name])]),
  ) as BuiltInValues

/** The values of some fields, for an answer. Null if a value is not known. */
export const builtInValues = <Name extends BuiltInField>(values: Pick<BuiltInValues, Name>, names: readonly Name[]) =>
  Object.fromEntries(names.map((name) => [name, values[name] ?? null])) as {
    [Each in Name]: Exclude<BuiltInValues[Each], undefined> | null
  }
