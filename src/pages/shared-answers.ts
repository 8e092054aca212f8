import { anyRequestCodes, codesIn } from './route-codes.js'

type Media = { schema?: { $ref?: string } }
export type Answer = { description: string; headers?: object; content?: Record<string, Media> }
type Reference = { $ref: string }
type Operations = Record<string, { responses: Record<string, Answer> }>

const pascalCase = (words: string) =>
  words
    .split(/[^a-z\d]+/i)
    .map((word) => word.charAt(0).toUpperCase() + word.slice(1))
    .join('')

/** `InvalidCsrfTokenOrCrossSite` for refusals, otherwise the name of the body. Then the headers that come with it: `WithSetCookie`. */
const nameOf = ({ description, headers = {}, content }: Answer) => {
  if (description === anyRequestCodes.join(', ')) return 'AnyRequest'
  const codes = codesIn(description)
  const schema = content?.['application/json']?.schema?.$ref?.split('/').at(-1)
  const name = codes.length > 0 ? codes.map(pascalCase).join('Or') : (schema ?? pascalCase(description))
  const namedHeaders = ['Set-Cookie', 'WWW-Authenticate'].filter((header) => header in headers)
  return [name, ...namedHeaders.map((header) => `With${pascalCase(header)}`)].join('')
}

/**
 * An answer that several operations give stands once, under a name, and references take its place. If different answers would have the
 * same name, the answer that is given most often gets the name, and the others stay in their operations.
 */
export const shareAnswers = (paths: Record<string, Operations>) => {
  const useCounts = new Map<string, number>()
  for (const operations of Object.values(paths))
    for (const { responses } of Object.values(operations))
      for (const answer of Object.values(responses)) {
        const text = JSON.stringify(answer)
        useCounts.set(text, (useCounts.get(text) ?? 0) + 1)
      }
  const mostUsedFirst = [...useCounts].filter(([, count]) => count > 1).sort(([, one], [, other]) => other - one)
  const textByName = new Map<string, string>()
  for (const [text] of mostUsedFirst) {
    const name = nameOf(JSON.parse(text) as Answer)
    if (!textByName.has(name)) textByName.set(name, text)
  }
  const nameByText = new Map([...textByName].map(([name, text]) => [text, name]))
  const toReference = (answer: Answer): Answer | Reference => {
    const name = nameByText.get(JSON.stringify(answer))
    return name === undefined ? answer : { $ref: `#/components/responses/${name}` }
  }
  const mapValues = <Value, Result>(all: Record<string, Value>, map: (each: Value) => Result): Record<string, Result> =>
    Object.fromEntries(Object.entries(all).map(([key, each]) => [key, map(each)]))
  return {
    paths: mapValues(paths, (operations) =>
      mapValues(operations, (operation) => ({ ...operation, responses: mapValues(operation.responses, toReference) })),
    ),
    responses: Object.fromEntries(
      [...textByName].sort(([one], [other]) => (one < other ? -1 : 1)).map(([name, text]) => [name, JSON.parse(text)]),
    ) as Record<string, Answer>,
  }
}
