import { isLanguage, languages } from '../contract/languages.js'
import { replaceableTexts } from '../service/operator-files.js'
import { CommandFailure, commandWithoutRooms } from './command.js'

export const wordsList = commandWithoutRooms({
  summary: 'Print every text of pages and mails, as a file for WORDS_FILE',
  help: `latchkey words list [--language CODE] [--json] > words.json

Prints every text of pages and mails with its key, in the form of the file that WORDS_FILE names. Keep the lines that you want to
change. The places in braces, such as {productName}, must stay. It opens no database.

  --language CODE    only this language: ${languages.join(', ')}`,
  json: 'the same: {LANGUAGE: {"pages": {KEY: text}, "mails": {KEY: text}}}',
  options: { language: { type: 'string' } },
  run: async ({ values: { language } }) => {
    if (language !== undefined && !isLanguage(language))
      throw new CommandFailure(`--language must be one of ${languages.join(', ')}.`)
    const { pages, mails } = replaceableTexts()
    const shownLanguages = languages.filter((each) => language === undefined || each === language)
    const texts = shownLanguages.map((each) => [each, { pages: pages[each], mails: mails[each] }])
    const json = Object.fromEntries(texts)
    return { json, text: JSON.stringify(json, null, 2) }
  },
})
