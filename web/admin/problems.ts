import type { AdminApplication } from '#contract/admin/admin-bodies.js'
import { useWords } from '../hooks/settings.js'
import type { Words } from '../words/catalogue.js'
import { fill } from '../words/format.js'

type Sentences = Words['admin']['problems']
type Sentence = Exclude<keyof Sentences, 'kinds' | 'said'>

/** What the service notes in English, each with its words and with what the sentence names. The first that fits counts. */
const patterns: readonly (readonly [RegExp, Sentence, ...string[]])[] = [
  [/^(\w+) `([^`]*)` is not registered, (`.*`) (?:is|are)$/, 'unregistered', 'parameter', 'address', 'registered'],
  [/^(\w+) `([^`]*)` is not registered, and no other is$/, 'unregisteredNone', 'parameter', 'address'],
  [/^redirect_uri is missing/, 'redirectMissing'],
  [/^redirect_uri `([^`]*)` is not the one of the authorization request$/, 'otherRedirect', 'address'],
  [/^The id and the secret are swapped/, 'swapped'],
  [/^The secret is wrong$/, 'secretWrong'],
  [/^No secret was sent$/, 'secretMissing'],
  [/^A secret was sent, and the application has none$/, 'secretNeedless'],
  [/code_challenge is missing/, 'noPkce'],
  [/scope must contain openid/, 'noScope'],
  [/^logout notices are refused with (\d+): (.*)$/, 'logoutRefused', 'status', 'address'],
]

export const sentenceOfProblem = (
  { kind, message }: Pick<AdminApplication['errors'][number], 'kind' | 'message'>,
  words: Sentences,
) => {
  for (const [pattern, sentence, ...names] of patterns) {
    const [, ...found] = pattern.exec(message) ?? []
    if (!pattern.test(message)) continue
    const values = names.map((name, index) => [name, found[index]?.replaceAll('`', '') ?? ''])
    return fill(words[sentence], Object.fromEntries(values))
  }
  const said = fill(words.said, { message: message.replaceAll('`', '') })
  const ofKind = Object.hasOwn(words.kinds, kind) ? words.kinds[kind as keyof typeof words.kinds] : ''
  return `${ofKind} ${said}`.trim()
}

/** What an application has done wrong, in the language of the page. */
export const useProblemSentence = () => {
  const { problems } = useWords('admin')
  return (problem: Parameters<typeof sentenceOfProblem>[0]) => sentenceOfProblem(problem, problems)
}
