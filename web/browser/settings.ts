import type { Language } from '#contract/languages.js'
import { type PageSettings, settingsElement } from '#contract/pages.js'
import type { Words } from '../words/catalogue.js'
import { localeInRegion } from '../words/format.js'

/** The settings that the server gives to the page. About the visitor they say no more than `maybeSignedIn`. */
export type Settings = PageSettings & {
  /** The language with the region of the visitor, such as `en-GB`, for dates and numbers. */
  locale: string
  /** The parts of the catalogue that words/catalogue.ts lists for this page. */
  words: Partial<Words>
}

/** The settings after the visitor has chosen another language; undefined before. */
let changedSettings: Settings | undefined

export const changeLanguage = (language: Language, words: Settings['words']) => {
  changedSettings = { ...readSettings(), language, words, locale: localeInRegion(language, navigator.languages) }
}

export const readSettings = (): Settings => {
  if (changedSettings) return changedSettings
  const element = document.getElementById(settingsElement)
  if (!element?.textContent) throw new Error('The page came without its settings')
  const settings = JSON.parse(element.textContent) as Omit<Settings, 'locale'>
  return { ...settings, locale: localeInRegion(settings.language, navigator.languages) }
}
