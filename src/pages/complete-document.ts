import { STATUS_CODES } from 'node:http'
import { refusalCodes, refusals } from '../contract/refusals.js'
import type { RouteFacts } from '../sessions/guards.js'
import { headerComponents, headersFor } from './answer-headers.js'
import { describe } from './operations.js'
import { anyRequestCodes, codesIn } from './route-codes.js'
import { type Answer, shareAnswers } from './shared-answers.js'
import { webhookComponents } from './webhook-operations.js'

type RequestBody = { required: boolean; content: Record<string, { schema: { type?: string | string[] } }> }
type Operation = {
  operationId?: string
  requestBody?: RequestBody
  description?: string
  security?: Record<string, string[]>[]
  tags?: string[]
  responses: Record<string, Answer>
}
type Paths = Record<string, Record<string, Operation>>

/** Each code with its status and its sentence. The answers of limits (429) are left out: they have no code. */
const RefusalCode = {
  type: 'string',
  oneOf: refusalCodes
    .filter((code) => refusals[code].status !== 429)
    .map((code) => ({ const: code, description: `${refusals[code].status}: ${refusals[code].message}` })),
}

/**
 * The answer with the codes that any request can get. `codesIn` reads the codes from the description. Every refusal has
 * X-Request-Id, so the document names this header here only.
 */
const anyRequestAnswer: Answer = {
  description: anyRequestCodes.join(', '),
  headers: { 'X-Request-Id': { $ref: '#/components/headers/RequestId' } },
  content: { 'application/json': { schema: { $ref: '#/components/schemas/Error' } } },
}

const completeAnswer = (status: string, answer: Answer, facts: RouteFacts): Answer => {
  const codes = codesIn(answer.description)
  const signsIn = answer.content?.['application/json']?.schema?.$ref?.endsWith('/SignedIn') ?? false
  // @fastify/swagger writes `Default Response` if the route gives this answer no description.
  const description = answer.description === 'Default Response' ? STATUS_CODES[status] : undefined
  const headers = { ...headersFor(facts, { status: Number(status), signsIn, codes }), ...answer.headers }
  return {
    ...answer,
    description: description ?? answer.description,
    ...(Object.keys(headers).length > 0 && { headers }),
  }
}

/** A body that may be null can be left out. @fastify/swagger says of every body that it is required. */
const completeBody = (body: RequestBody): RequestBody => {
  const canBeNull = Object.values(body.content).some(({ schema }) => schema.type?.includes('null'))
  return { ...body, required: !canBeNull }
}

const completeOperation = (operation: Operation, facts: RouteFacts): Operation => {
  const answers = Object.entries({ ...operation.responses, default: anyRequestAnswer }).map(
    ([status, answer]) => [status, completeAnswer(status, answer, facts)] as const,
  )
  return {
    // The operation's own description replaces this one.
    description: describe(facts, operation.security ?? []),
    ...operation,
    ...(operation.requestBody && { requestBody: completeBody(operation.requestBody) }),
    responses: Object.fromEntries(answers),
  }
}

type Components = { schemas: Readonly<Record<string, unknown>> }

/** Adds what the schemas do not say: what each operation needs, the headers of its answers, the meaning of each code. */
export const completeDocument = <Document extends { paths: unknown; components: Components }>(
  document: Document,
  factsByOperation: ReadonlyMap<string, RouteFacts>,
  tags: Readonly<Record<string, string>>,
) => {
  const describeTag = (name: string) => {
    const description = tags[name]
    if (description === undefined) throw new Error(`The tag "${name}" has no description`)
    return { name, description }
  }
  const completeIfKnown = (operation: Operation) => {
    const facts = factsByOperation.get(operation.operationId ?? '')
    return facts ? completeOperation(operation, facts) : operation
  }
  const completePaths = Object.fromEntries(
    Object.entries(document.paths as Paths).map(([path, operations]) => [
      path,
      Object.fromEntries(Object.entries(operations).map(([method, each]) => [method, completeIfKnown(each)] as const)),
    ]),
  )
  const usedTags = Object.values(completePaths).flatMap((operations) =>
    Object.values(operations).flatMap(({ tags = [] }) => tags),
  )
  const { paths, responses } = shareAnswers(completePaths)
  return {
    ...document,
    tags: [...new Set(usedTags)].map(describeTag),
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
