import { languages } from './language-codes.js'

/** Every language of pages and mails. */
export { languages }
export type Language = (typeof languages)[number]

/** `languageName('de', 'fr')` is German in French: "allemand". */
export const languageName = (language: Language, reader: Language) =>
  new Intl.DisplayNames(reader, { type: 'language' }).of(language) ?? language

/** The name of a language as its speakers write it at the beginning of a line: "Deutsch". */
export const ownNameOf = (language: Language) => {
  const name = languageName(language, language)
  return name.charAt(0).toUpperCase() + name.slice(1)
}

export const isLanguage = (text: string | null): text is Language => languages.some((language) => language === text)

/** The best of our languages for an `Accept-Language` header; English when it names none of them. */
export const languageFrom = (acceptLanguage: string | undefined): Language => {
  const preferences = (acceptLanguage ?? '')
    .slice(0, 1_000)
    .split(',')
    .map((entry) => {
      const [tag = '', ...parameters] = entry.trim().toLowerCase().split(';')
      const weight = parameters.map((parameter) => /^\s*q=([\d.]+)$/.exec(parameter)?.[1]).find(Boolean)
      return { language: tag.split('-')[0] ?? '', weight: weight === undefined ? 1 : Number(weight) }
    })
    .filter(({ weight }) => weight > 0)
    .sort((left, right) => right.weight - left.weight)
  return preferences.map(({ language }) => language).find(isLanguage) ?? 'en'
}

/** The first of our languages in a list of tags with spaces between them, such as `ui_locales` (OpenID Connect Core 1.0, 3.1.2.1). */
export const languageAmong = (locales: string): Language | undefined =>
  locales
    .slice(0, 200)
    .split(' ')
    .map((tag) => tag.toLowerCase().split('-')[0] ?? '')
    .find(isLanguage)

/** The label in this language, or else in English, or else in the first language that has one. */
export const labelIn = (labels: Readonly<Partial<Record<Language, string>>>, language: Language, fallback: string) =>
  labels[language] ?? labels.en ?? Object.values(labels)[0] ?? fallback
