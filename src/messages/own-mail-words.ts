import { type Language, languages } from '../contract/languages.js'
import { fillPlaceholders } from '../lib/text.js'
import { type MailKind, type MailWords, mailForms, type PageInMails } from './letters.js'
import { wordsIn } from './words/words-in.js'

/** Texts of the operator by their keys, such as `verify-email.subject`, for each language. */
export type OwnTexts = Partial<Record<Language, Readonly<Record<string, string>>>>

type AnyValues = Readonly<Record<string, unknown>>
type Sentences = Readonly<Record<string, string>>
const kinds = Object.keys(mailForms) as MailKind[]

/** The variants of a mail, with the values that select them. The name of a variant is the last part of the key of its text. */
const variants: Readonly<
  Record<string, { values: AnyValues; of?: MailKind; applies: (values: AnyValues) => boolean }>
> = {
  // Every other mail with a code is about the code, and always has one.
  withoutCode: {
    values: { code: undefined },
    of: 'verify-email',
    applies: (values) => 'code' in values && values.code === undefined,
  },
  withoutPassword: { values: { hasPassword: false }, applies: ({ hasPassword }) => hasPassword === false },
  withoutInviter: {
    values: { invitedBy: undefined },
    applies: (values) => 'invitedBy' in values && values.invitedBy === undefined,
  },
  withoutResource: {
    values: { resourceName: undefined },
    applies: (values) => 'resourceName' in values && values.resourceName === undefined,
  },
  added: { values: { action: 'added' }, applies: ({ action }) => action === 'added' },
  deleted: { values: { action: 'deleted' }, applies: ({ action }) => action === 'deleted' },
  byOperator: { values: { byOperator: true }, applies: ({ byOperator }) => byOperator === true },
}

/**
 * Values whose texts are their own placeholders, such as `{username}`. A letter that is written with them is the text with its
 * placeholders.
 */
const placeholders = (fixedValues: AnyValues): AnyValues =>
  new Proxy(fixedValues, {
    get: (target, name) => {
      if (name in target) return target[String(name)]
      if (name === 'hasPassword') return true
      if (name === 'action') return 'changed'
      return name === 'byOperator' ? false : `{${String(name)}}`
    },
  })

const sentencesOf = (words: MailWords, kind: MailKind, values: AnyValues): Sentences =>
  (words.letters[kind] as (values: never) => Sentences)(values as never)

const lettersOf = (words: MailWords) =>
  kinds.flatMap((kind) => {
    const usualTexts = sentencesOf(words, kind, placeholders({}))
    const ofKind = Object.entries(variants).filter(([, { of = kind }]) => of === kind)
    const variantTexts = ofKind.flatMap(([name, { values }]) =>
      Object.entries(sentencesOf(words, kind, placeholders(values)))
        .filter(([part, text]) => text !== usualTexts[part])
        .map(([part, text]) => [`${kind}.${part}.${name}`, text] as const),
    )
    return [...Object.entries(usualTexts).map(([part, text]) => [`${kind}.${part}`, text] as const), ...variantTexts]
  })

/** Sentences that all mails share. Each lists the names of its values, in the order of the function's parameters. */
const sharedSentences = {
  undo: ['undoFor'],
  byOperator: ['productName', 'time'],
  byClient: ['device', 'ip', 'time'],
  byVisitor: ['device', 'time'],
  byProgram: ['ip', 'time'],
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
  unproven: words.unproven,
})

/** Every text of mails that can be replaced, with its placeholders, such as `{productName}`. */
export const mailTexts = (): Record<Language, Record<string, string>> =>
  Object.fromEntries(languages.map((language) => [language, textsIn(wordsIn[language])])) as Record<
    Language,
    Record<string, string>
  >

const withTexts = (words: MailWords, ownTexts: Readonly<Record<string, string>>): MailWords => {
  /** The operator's text with the values filled in, or else the usual text. */
  const ownOrUsual = (key: string, values: AnyValues, usualText: string) => {
    const text = ownTexts[key]
    return text === undefined ? usualText : fillPlaceholders(text, values)
  }
  const knownTexts = textsIn(words)
  const variantKey = (key: string, values: AnyValues) => {
    const variant = Object.entries(variants).find(
      ([name, { applies }]) => applies(values) && `${key}.${name}` in knownTexts,
    )
    return variant ? `${key}.${variant[0]}` : key
  }
  const letters = kinds.map((kind) => {
    const write = (values: AnyValues) =>
      Object.fromEntries(
        Object.entries(sentencesOf(words, kind, values)).map(([part, usualText]) => [
          part,
          ownOrUsual(variantKey(`${kind}.${part}`, values), values, usualText),
        ]),
      )
    return [kind, write]
  })
  const labels = Object.entries(words.labels).map(([page, label]) => [page, ownTexts[`labels.${page}`] ?? label])
  const footers = Object.entries(words.footers).map(([name, text]) => [
    name,
    (productName: string) => ownOrUsual(`footers.${name}`, { productName }, text(productName)),
  ])
  const links = Object.entries(words.links).map(([name, label]) => [name, ownTexts[`links.${name}`] ?? label])
  const ownSentences = sentenceNames.map((name) => {
    const write: SentenceWriter = (...parameters) => {
      const values = Object.fromEntries(sharedSentences[name].map((value, at) => [value, parameters[at]]))
      return ownOrUsual(name, values, writerOf(words, name)(...parameters))
    }
    return [name, write]
  })
  return {
    ...words,
    ...(Object.fromEntries(ownSentences) as Pick<MailWords, keyof typeof sharedSentences>),
    links: Object.fromEntries(links) as MailWords['links'],
    labels: Object.fromEntries(labels) as Record<PageInMails, string>,
    footers: Object.fromEntries(footers) as MailWords['footers'],
    help: ownTexts.help ?? words.help,
    unproven: ownTexts.unproven ?? words.unproven,
    letters: Object.fromEntries(letters) as MailWords['letters'],
  }
}

/** The words of mails in each language, with the texts of the operator in place of ours. */
export const mailWordsWith = (ownTexts: OwnTexts): Record<Language, MailWords> =>
  Object.fromEntries(
    languages.map((language) => {
      const texts = ownTexts[language]
      return [language, texts ? withTexts(wordsIn[language], texts) : wordsIn[language]]
    }),
  ) as Record<Language, MailWords>
