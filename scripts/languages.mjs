// A language exists if it has words of pages in web/words. The lists of languages are written from those files with each build, so a
// language without words of mails does not compile.
import { readdir, readFile, writeFile } from 'node:fs/promises'

const root = new URL('..', import.meta.url)
const note = '// Written by scripts/languages.mjs, from the files in web/words.\n'

/** @type {(languages: string[]) => string} */
const codesFile = (languages) =>
  `${note}export const languages = [${languages.map((language) => `'${language}'`).join(', ')}] as const\n`

/** @type {(languages: string[]) => string} */
const wordsFile = (languages) => {
  const imports = [...languages].sort().map((language) => `import { ${language} } from './${language}.js'\n`)
  return `${note}${imports.join('')}\nexport const wordsIn = { ${languages.join(', ')} }\n`
}

/** The texts of the lists, by the path of each file. */
export const languageLists = async () => {
  const names = await readdir(new URL('web/words', root))
  const found = names.flatMap((name) => /^([a-z]{2})\.ts$/.exec(name)?.[1] ?? []).sort()
  // English comes first, because a page shows the languages in this order.
  const languages = ['en', ...found.filter((language) => language !== 'en')]
  return {
    'src/contract/language-codes.ts': codesFile(languages),
    'src/messages/words/words-in.ts': wordsFile(languages),
    'web/words/words-in.ts': wordsFile(languages),
  }
}

export const writeLanguageLists = async () => {
  for (const [path, text] of Object.entries(await languageLists())) {
    const file = new URL(path, root)
    if ((await readFile(file, 'utf8').catch(() => '')) !== text) await writeFile(file, text)
  }
}
