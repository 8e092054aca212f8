import { isLanguage, type Language, languages } from '../../contract/languages.js'
import { UsageFault } from '../command.js'

/** The codes as they stand in a help text: `en|de|…`. */
export const languageCodes = languages.join('|')

export const readLanguage = (text: string): Language => {
  if (!isLanguage(text)) throw new UsageFault(`--language takes one of ${languages.join(', ')}.`)
  return text
}
