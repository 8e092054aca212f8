import { expect, it } from 'vitest'
import { languageLists } from '../../scripts/languages.mjs'
import { wordsIn as mailWordsIn } from '../../src/messages/words/words-in.js'
import { wordsIn } from '../../web/words/words-in.js'
import { read } from '../support/project.js'

it('the lists of languages are those of the words: run npm run build', async () => {
  for (const [path, text] of Object.entries(await languageLists())) expect(await read(path), path).toBe(text)
})

it.each(Object.keys(wordsIn) as (keyof typeof wordsIn)[])(
  'pages and mails name devices and pages of the operator alike: %s',
  (language) => {
    expect(wordsIn[language].dashboard).toMatchObject(mailWordsIn[language].devices)
    expect(wordsIn[language].footer).toMatchObject(mailWordsIn[language].links)
  },
)
