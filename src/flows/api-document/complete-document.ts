import { STATUS_CODES } from 'node:http'
import { type RefusalCode, refusalCodes, refusals } from '../../contract/refusals.js'
import { exampleOf } from '../../http/route-refusals.js'
import { headerComponents, headersFor } from './answer-headers.js'
import { needsOf } from './operations.js'
import { codesIn, type RouteFacts } from './route-codes.js'

type Media = { schema?: { title?: string; $ref?: string }; examples?: object }
type Response = { description: string; headers?: object; content?: Record<string, Media> }
type Operation = { operationId?: string; description?: string; tags?: string[]; responses: Record<string, Response> }
type Paths = Record<string, Record<string, Operation>>

const examples = (codes: ReadonlySet<RefusalCode>) => {
  const used = refusalCodes.filter((code) => codes.has(code))
  return Object.fromEntries(used.map((code) => [code, { summary: refusals[code].message, value: exampleOf(code) }]))
}
const examplesFor = (codes: readonly RefusalCode[]) =>
  Object.fromEntries(codes.map((code) => [code, { $ref: `#/components/examples/${code}` }]))

const completeResponse = (status: string, response: Response, facts: RouteFacts): Response => {
  const codes = codesIn(response.description)
  const json = response.content?.['application/json']
  const answer = { status: Number(status), signsIn: json?.schema?.$ref?.endsWith('/SignedIn') ?? false, codes }
  const description = response.description === 'Default Response' ? STATUS_CODES[status] : undefined
  const headers = { ...headersFor(facts, answer), ...response.headers }
  return {
    ...response,
    description: description ?? response.description,
    ...(Object.keys(headers).length > 0 && { headers }),
    ...(json && codes.length > 0 && { content: { 'application/json': { ...json, examples: examplesFor(codes) } } }),
  }
}

/** What the document says about each answer beyond its schema: headers, and each refusal as an example. */
export const completeDocument = <Document extends { paths: unknown; components: object }>(
  document: Document,
  factsOf: ReadonlyMap<string, RouteFacts>,
  tags: Readonly<Record<string, string>>,
) => {
  const described = (name: string) => {
    const description = tags[name]
    if (description === undefined) throw new Error(`The tag "${name}" has no description`)
    return { name, description }
  }
  const complete = (operation: Operation): Operation => {
    const facts = factsOf.get(operation.operationId ?? '')
    if (!facts) return operation
    const responses = Object.entries(operation.responses).map(
      ([status, response]) => [status, completeResponse(status, response, facts)] as const,
    )
    return { description: needsOf(facts), ...operation, responses: Object.fromEntries(responses) }
  }
  const paths = Object.entries(document.paths as Paths).map(([path, operations]) => {
    const completed = Object.entries(operations).map(([method, each]) => [method, complete(each)] as const)
    return [path, Object.fromEntries(completed)] as const
  })
  const all = paths.flatMap(([, operations]) => Object.values(operations))
  const used = new Set(all.flatMap((each) => each.tags ?? []))
  const codes = new Set(all.flatMap((each) => Object.values(each.responses).flatMap((one) => codesIn(one.description))))
  return {
    ...document,
    tags: [...used].map(described),
    components: { ...document.components, headers: headerComponents, examples: examples(codes) },
    paths: Object.fromEntries(paths),
  }
}
