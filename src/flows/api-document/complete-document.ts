import { STATUS_CODES } from 'node:http'
import { refusalCodes, refusals } from '../../contract/refusals.js'
import type { RouteFacts } from '../../http/guards.js'
import { headerComponents, headersFor } from './answer-headers.js'
import { describe } from './operations.js'
import { anyRequest, codesIn } from './route-codes.js'
import { type Answer, shareAnswers } from './shared-answers.js'
import { webhookComponents } from './webhook-operations.js'

type Operation = {
  operationId?: string
  description?: string
  security?: Record<string, string[]>[]
  tags?: string[]
  responses: Record<string, Answer>
}
type Paths = Record<string, Record<string, Operation>>

/** Each code with its status and its sentence. A limit has no code in its body. */
const RefusalCode = {
  type: 'string',
  oneOf: refusalCodes
    .filter((code) => refusals[code].status !== 429)
    .map((code) => ({ const: code, description: `${refusals[code].status}: ${refusals[code].message}` })),
}

const forAnyRequest: Answer = {
  description: anyRequest.join(', '),
  content: { 'application/json': { schema: { $ref: '#/components/schemas/Error' } } },
}

const completeAnswer = (status: string, answer: Answer, facts: RouteFacts): Answer => {
  const codes = codesIn(answer.description)
  const signsIn = answer.content?.['application/json']?.schema?.$ref?.endsWith('/SignedIn') ?? false
  const description = answer.description === 'Default Response' ? STATUS_CODES[status] : undefined
  const headers = { ...headersFor(facts, { status: Number(status), signsIn, codes }), ...answer.headers }
  return {
    ...answer,
    description: description ?? answer.description,
    ...(Object.keys(headers).length > 0 && { headers }),
  }
}

const complete = (operation: Operation, facts: RouteFacts): Operation => {
  const answers = Object.entries({ ...operation.responses, default: forAnyRequest }).map(
    ([status, answer]) => [status, completeAnswer(status, answer, facts)] as const,
  )
  return {
    description: describe(facts, operation.security ?? []),
    ...operation,
    responses: Object.fromEntries(answers),
  }
}

type Components = { schemas: Readonly<Record<string, unknown>> }

/** What the document says beyond the schemas: what each operation needs, the headers of its answers, the meaning of each code. */
export const completeDocument = <Document extends { paths: unknown; components: Components }>(
  document: Document,
  factsOf: ReadonlyMap<string, RouteFacts>,
  tags: Readonly<Record<string, string>>,
) => {
  const described = (name: string) => {
    const description = tags[name]
    if (description === undefined) throw new Error(`The tag "${name}" has no description`)
    return { name, description }
  }
  const completed = (operation: Operation) => {
    const facts = factsOf.get(operation.operationId ?? '')
    return facts ? complete(operation, facts) : operation
  }
  const all = Object.fromEntries(
    Object.entries(document.paths as Paths).map(([path, operations]) => [
      path,
      Object.fromEntries(Object.entries(operations).map(([method, each]) => [method, completed(each)] as const)),
    ]),
  )
  const used = Object.values(all).flatMap((operations) => Object.values(operations).flatMap(({ tags = [] }) => tags))
  const { paths, responses } = shareAnswers(all)
  return {
    ...document,
    tags: [...new Set(used)].map(described),
    paths,
    components: {
      ...document.components,
      schemas: { ...document.components.schemas, RefusalCode },
      parameters: webhookComponents.parameters,
      responses: { ...responses, ...webhookComponents.responses },
      headers: headerComponents,
    },
  }
}
