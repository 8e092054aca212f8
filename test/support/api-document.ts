export type DocumentedAnswer = { description: string; headers?: object }
type Operation = {
  operationId: string
  summary?: string
  description?: string
  security: object[]
  requestBody?: { content: { 'application/json': { schema: object } } }
  responses: Record<string, DocumentedAnswer | { $ref: string }>
}
type ApiDocument = {
  paths: Record<string, Record<string, Operation>>
  components: { responses: Record<string, DocumentedAnswer> }
}

/** The operations of the API document, with their answers instead of the references to them. */
export const documentedOperations = (document: object) => {
  const { paths, components } = document as ApiDocument
  const answerOf = (answer: DocumentedAnswer | { $ref: string }) => {
    if (!('$ref' in answer)) return answer
    const found = components.responses[answer.$ref.replace('#/components/responses/', '')]
    if (!found) throw new Error(`The API document has no answer ${answer.$ref}`)
    return found
  }
  return Object.entries(paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, operation]) => ({
      ...operation,
      method,
      path,
      answers: Object.fromEntries(
        Object.entries(operation.responses).map(([status, answer]) => [status, answerOf(answer)] as const),
      ),
    })),
  )
}
