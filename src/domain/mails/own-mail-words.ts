import { type Language, languages } from '../../contract/languages.js'
import { fillPlaceholders } from '../../lib/text-placeholders.js'
import { forms, type MailKind, type MailWords, type PageInMails } from './letters.js'
import { wordsIn } from './words/words-in.js'

/** Texts of the operator by their keys, such as `verify-email.subject`, for each language. */
export type OwnTexts = Partial<Record<Language, Readonly<Record<string, string>>>>

type AnyValues = Readonly<Record<string, unknown>>
type Sentences = Readonly<Record<string, string>>
const kinds = Object.keys(forms) as MailKind[]

/** The variants of a mail, with their values. The name of a variant is the last part of the key. */
const variants: Readonly<Record<string, { values: AnyValues; applies: (values: AnyValues) => boolean }>> = {
  withoutCode: { values: { code: undefined }, applies: (values) => 'code' in values && values.code === undefined },
  withoutPassword: { values: { hasPassword: false }, applies: ({ hasPassword }) => hasPassword === false },
  byOperator: { values: { byOperator: true }, applies: ({ byOperator }) => byOperator === true },
}

/** Each value is its own placeholder, such as `{username}`: a letter that is written with them is the text with its placeholders. */
const placeholders = (fixedValues: AnyValues): AnyValues =>
  new Proxy(fixedValues, {
    get: (target, name) => {
      if (name in target) return target[String(name)]
      if (name === 'hasPassword') return true
      return name === 'byOperator' ? false : `{${String(name)}}`
    },
  })

const sentencesOf = (words: MailWords, kind: MailKind, values: AnyValues): Sentences =>
  (words.letters[kind] as (values: never) => Sentences)(values as never)

const lettersOf = (words: MailWords) =>
  kinds.flatMap((kind) => {
    const usual = sentencesOf(words, kind, placeholders({}))
    const variantTexts = Object.entries(variants).flatMap(([name, { values }]) =>
      Object.entries(sentencesOf(words, kind, placeholders(values)))
        .filter(([part, text]) => text !== usual[part])
        .map(([part, text]) => [`${kind}.${part}.${name}`, text] as const),
    )
    return [...Object.entries(usual).map(([part, text]) => [`${kind}.${part}`, text] as const), ...variantTexts]
  })

/** Sentences that all mails share. Each lists the names of its values, in the order of the function's parameters. */
const sharedSentences = {
  undo: ['undoFor'],
  byOperator: ['productName', 'time'],
  byClient: ['device', 'ip', 'time'],
  byVisitor: ['device', 'time'],
  renamed: ['formerUsername', 'username'],
} as const satisfies Partial<Record<keyof MailWords, readonly string[]>>
const sentenceNames = Object.keys(sharedSentences) as (keyof typeof sharedSentences)[]
type SentenceWriter = (...values: readonly string[]) => string
const writerOf = (words: MailWords, name: keyof typeof sharedSentences): SentenceWriter => words[name]

const textsIn = (words: MailWords): Record<string, string> => ({
  ...Object.fromEntries(lettersOf(words)),
  ...Object.fromEntries(Object.entries(words.labels).map(([page, label]) => [`labels.${page}`, label])),
  ...Object.fromEntries(
    Object.entries(words.footers).map(([name, text]) => [`footers.${name}`, text('{productName}')]),
  ),
  ...Object.fromEntries(Object.entries(words.links).map(([name, label]) => [`links.${name}`, label])),
  ...Object.fromEntries(
    sentenceNames.map((name) => [name, writerOf(words, name)(...sharedSentences[name].map((value) => `{${value}}`))]),
  ),
  help: words.help,
})

/** Every text of mails that can be replaced, with its placeholders, such as `{productName}`. */
export const mailTexts = (): Record<Language, Record<string, string>> =>
  Object.fromEntries(languages.map((language) => [language, textsIn(wordsIn[language])])) as Record<
    Language,
    Record<string, string>
  >

const withTexts = (words: MailWords, own: Readonly<Record<string, string>>): MailWords => {
  /** The operator's text with the values filled in, or else the usual one. */
  const ownOrUsual = (key: string, values: AnyValues, usual: string) => {
    const text = own[key]
    return text === undefined ? usual : fillPlaceholders(text, values)
  }
  const knownTexts = textsIn(words)
  const variantKey = (key: string, values: AnyValues) => {
    const found = Object.entries(variants).find(
      ([name, { applies }]) => applies(values) && `${key}.${name}` in knownTexts,
    )
    return found ? `${key}.${found[0]}` : key
  }
  const letters = kinds.map((kind) => {
    const write = (values: AnyValues) =>
      Object.fromEntries(
        Object.entries(sentencesOf(words, kind, values)).map(([part, usual]) => [
          part,
          ownOrUsual(variantKey(`${kind}.${part}`, values), values, usual),
        ]),
      )
    return [kind, write]
  })
  const labels = Object.entries(words.labels).map(([page, label]) => [page, own[`labels.${page}`] ?? label])
  const footers = Object.entries(words.footers).map(([name, text]) => [
    name,
    (productName: string) => ownOrUsual(`footers.${name}`, { productName }, text(productName)),
  ])
  const links = Object.entries(words.links).map(([name, label]) => [name, own[`links.${name}`] ?? label])
  const ownSentences = sentenceNames.map((name) => {
    const write: SentenceWriter = (...given) => {
      const values = Object.fromEntries(sharedSentences[name].map((value, at) => [value, given[at]]))
      return ownOrUsual(name, values, writerOf(words, name)(...given))
    }
    return [name, write]
  })
  return {
    ...words,
    ...(Object.fromEntries(ownSentences) as Pick<MailWords, keyof typeof sharedSentences>),
    links: Object.fromEntries(links) as MailWords['links'],
    labels: Object.fromEntries(labels) as Record<PageInMails, string>,
    footers: Object.fromEntries(footers) as MailWords['footers'],
    help: own.help ?? words.help,
    letters: Object.fromEntries(letters) as MailWords['letters'],
  }
}

/** The words of mails in each language, with those of the operator in their places. */
export const mailWordsWith = (own: OwnTexts): Record<Language, MailWords> =>
  Object.fromEntries(
    languages.map((language) => {
      const texts = own[language]
      return [language, texts ? withTexts(wordsIn[language], texts) : wordsIn[language]]
    }),
  ) as Record<Language, MailWords>
