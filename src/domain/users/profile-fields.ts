import { isLanguage } from '../../contract/languages.js'
import { longestName } from '../../contract/name-lengths.js'
import { type ProfileField, profileFieldNames } from '../../contract/schemas.js'
import { displayName } from './display-name.js'

/** The fields as the table `users` has them. */
export type StoredProfile = Record<ProfileField, string | null>
export const profileColumns = Object.fromEntries(profileFieldNames.map((name) => [name, true])) as Record<
  ProfileField,
  true
>

export type Reader = {
  /** The longest text that an import accepts. */
  longest: number
  /** Reads a text from the form of the account page, or from a request like it. */
  typed: (text: string | null) => string | null
  /** Reads a text from a row of an import. Null if it is left out. `broken` is a sentence that says why the import refuses it. */
  imported: (text: string) => string | null | { broken: string }
  /** Reads a text from the table. A newer release, a provider or plain SQL may have written what this release would not. */
  stored: (text: string | null) => string | null | undefined
  /** The text for an export, in a form that the import accepts. */
  exported: (text: string | null) => string | null
}

/** How the values of each field of the contract are read. */
export const profileReaders = {
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
    /** Accepts `de` or `de-AT`. A language without mails of ours is left out, and the first sign-in sets it. */
    imported: (text) => {
      const [code = ''] = text.toLowerCase().split(/[-_]/)
      return isLanguage(code) ? code : null
    },
    stored: (text) => (isLanguage(text) ? text : undefined),
    exported: (text) => text,
  },
} as const satisfies Record<ProfileField, Reader>

/** The fields of a user, as this release reads them. */
export type Profile = { [Name in ProfileField]: ReturnType<(typeof profileReaders)[Name]['stored']> }

export const profileFrom = (row: StoredProfile) =>
  Object.fromEntries(profileFieldNames.map((name) => [name, profileReaders[name].stored(row[name])])) as Profile

/** The values of these fields for an answer. Null if they are not known. */
export const shownProfile = <Name extends ProfileField>(profile: Pick<Profile, Name>, names: readonly Name[]) =>
  Object.fromEntries(names.map((name) => [name, profile[name] ?? null])) as {
    [Each in Name]: Exclude<Profile[Each], undefined> | null
  }
