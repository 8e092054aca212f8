// Writes the list of exports into the README of each package. It is read from the published types, so that it is never out of date.
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { parseSync } from 'vite'
import { readPackages } from './packages.mjs'

const home = fileURLToPath(new URL('..', import.meta.url))
const heading = '## Exports'

/** @returns {Promise<Record<string, string>>} the READMEs with their lists, by path */
export const readmesWithExports = async () => {
  const packages = await readPackages()
  const texts = packages.map(async ({ name, folder, entries }) => {
    const path = `packages/${folder}/README.md`
    const [before = ''] = (await readFile(join(home, path), 'utf8')).split(`\n${heading}\n`)
    return [path, `${before.trimEnd()}\n\n${heading}\n\n${await tableOf(name, folder, entries)}\n`]
  })
  return Object.fromEntries(await Promise.all(texts))
}

/** @param {string} name @param {string} folder @param {string[]} entries */
const tableOf = async (name, folder, entries) => {
  const rows = entries.map(async (entry) => {
    const file = join(home, 'packages', folder, 'dist', entry)
    const [values, all] = await Promise.all([exportsOf(`${file}.js`), exportsOf(`${file}.d.ts`)])
    const types = all.filter((each) => !values.includes(each))
    return `| \`${specifierOf(name, entry)}\` | ${codeList(values)} | ${codeList(types)} |`
  })
  return ['| import | values | types |', '|---|---|---|', ...(await Promise.all(rows))].join('\n')
}

/** @param {string[]} names */
const codeList = (names) => names.map((name) => `\`${name}\``).join(', ')

/** @param {string} file */
const exportsOf = async (file) => {
  const { module } = parseSync(file, await readFile(file, 'utf8'))
  const entries = module.staticExports.flatMap((each) => each.entries)
  return entries.flatMap(({ exportName }) => exportName.name ?? []).sort()
}

/** The import of an entry. The entry that has the name of the package is the package itself. @param {string} name @param {string} entry */
const specifierOf = (name, entry) => (name.endsWith(`/${entry}`) ? name : `${name}/${entry}`)
