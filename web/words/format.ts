import { fill } from '#client/words/fill.js'

export { fill }

/** "1 passkey", "2 passkeys". */
export const countText = (forms: { none?: string; one: string; other: string }, count: number, locale: string) => {
  const form = new Intl.PluralRules(locale).select(count) === 'one' ? forms.one : forms.other
  return fill(count === 0 ? (forms.none ?? form) : form, { count: String(count) })
}

/** The page's language in the visitor's own region, so that dates are written as people there write them. */
export const localeInRegion = (language: string, preferred: readonly string[]) =>
  preferred.find((candidate) => candidate === language || candidate.startsWith(`${language}-`)) ?? language
