type Json = { [key: string]: unknown }

const isObject = (value: unknown): value is Json => typeof value === 'object' && value !== null && !Array.isArray(value)

/** A plain type or null, as OpenAPI 3.1 writes it. */
const nullable = (schema: Json): Json => {
  const { anyOf, ...rest } = schema
  const [value, other, ...furtherTypes] = Array.isArray(anyOf) ? (anyOf as Json[]) : []
  if (typeof value?.type !== 'string' || 'enum' in value || other?.type !== 'null' || furtherTypes.length > 0)
    return schema
  return { ...value, ...rest, type: [value.type, 'null'] }
}

/** Moves each schema with a title to the named schemas, where it stands once. References take its place. */
export const withNamedSchemas = <Document extends object>(document: Document) => {
  const schemas: Json = {}

  const visit = (value: unknown): unknown => {
    if (Array.isArray(value)) return value.map(visit)
    if (!isObject(value)) return value
    const { title, ...rest } = value
    const visited = nullable(Object.fromEntries(Object.entries(rest).map(([key, each]) => [key, visit(each)])))
    // A property may be called `title`; then it holds a schema and not a name.
    if (typeof title !== 'string') return title === undefined ? visited : { title: visit(title), ...visited }
    schemas[title] ??= visited
    return { $ref: `#/components/schemas/${title}` }
  }

  const paths = 'paths' in document ? visit(document.paths) : {}
  const webhooks = 'webhooks' in document ? { webhooks: visit(document.webhooks) } : {}
  const components = 'components' in document && isObject(document.components) ? document.components : {}
  const sorted = Object.fromEntries(Object.entries(schemas).sort(([left], [right]) => (left < right ? -1 : 1)))
  return { ...document, components: { ...components, schemas: sorted }, paths, ...webhooks }
}
