import type { FastifyError } from 'fastify'
import { groupPattern } from '../contract/names.js'
import { uuidPattern } from '../lib/uuid.js'

type Fault = NonNullable<FastifyError['validation']>[number]
/** A JSON schema. */
export type Schema = { readonly [key: string]: unknown }

/** What a text must be, by the pattern of its schema. For any other pattern, the description of the schema says it. */
const patternRules: Readonly<Record<string, string>> = {
  [uuidPattern]: 'must be a UUID in small letters, as the service gives it',
  [groupPattern]:
    'must be the name of a group: 1 to 32 characters, small letters, digits, dots, underscores and hyphens, with a letter or a digit first',
  '\\S': 'must not be empty',
}

const typeNames: Readonly<Record<string, string>> = {
  string: 'a text',
  number: 'a number',
  integer: 'a whole number',
  boolean: 'true or false',
  object: 'an object',
  array: 'a list',
  null: 'null',
}

const typeName = (type: unknown) => typeNames[String(type)] ?? String(type)

const oneOf = (values: readonly unknown[]) =>
  [values.slice(0, -1).join(', '), ...values.slice(-1)].filter(Boolean).join(' or ')

/** The parts of a JSON pointer, such as `#/properties/limit/pattern`. */
const pointerParts = (pointer: string) =>
  pointer
    .split('/')
    .slice(1)
    .map((part) => part.replaceAll('~1', '/').replaceAll('~0', '~'))

/** The schema that has the keyword at this place. */
const schemaWith = (keywordPlace: string, root: Schema) =>
  pointerParts(keywordPlace)
    .slice(0, -1)
    .reduce((schema, part) => (schema[part] ?? {}) as Schema, root)

const patternRule = (pattern: string, { description }: Schema) => {
  const rule = patternRules[pattern]
  if (rule !== undefined) return rule
  return typeof description === 'string' ? `is not valid: ${description}` : 'has characters that are not allowed here'
}

const itemsName = (items: unknown) => ((items as Schema | undefined)?.pattern === groupPattern ? 'groups' : 'entries')

type SentenceEnd = (fault: Fault, faultsAtSamePlace: readonly Fault[], schema: Schema) => string

/** By the keyword of the schema: the sentence about a value, after its name. */
const sentenceEnds: Readonly<Record<string, SentenceEnd>> = {
  type: (_, faults) => `must be ${oneOf(faults.flatMap(({ params }) => params.type ?? []).map(typeName))}`,
  const: (_, faults) => `must be ${oneOf(faults.flatMap(({ params }) => params.allowedValue ?? []))}`,
  enum: ({ params }) => `must be ${oneOf([params.allowedValues].flat())}`,
  minLength: ({ params }) =>
    params.limit === 1 ? 'must not be empty' : `must have at least ${String(params.limit)} characters`,
  maxLength: ({ params }) => `has more than ${String(params.limit)} characters`,
  maxItems: ({ params }, _, { items }) => `has more than ${String(params.limit)} ${itemsName(items)}`,
  maxProperties: ({ params }) => `has more than ${String(params.limit)} entries`,
  pattern: ({ params }, _, schema) => patternRule(String(params.pattern), schema),
}

/**
 * A sentence about a request that does not fit the schema of its route. It names the property and what it must be, never its value.
 * Undefined if no property is at fault.
 */
export const validationMessage = (
  { validation = [], validationContext }: Pick<FastifyError, 'validation' | 'validationContext'>,
  schema: Schema = {},
) => {
  // Each alternative of a schema has reported a fault. That of an alternative with the right type says most.
  const faults = validation.filter(({ keyword }) => keyword !== 'anyOf')
  const fault = faults.find(({ keyword }) => keyword !== 'type') ?? faults[0]
  if (!fault) return undefined
  const { keyword, instancePath, schemaPath } = fault
  const name = pointerParts(instancePath).join('.')
  if (keyword === 'required')
    return [name, `${String(fault.params.missingProperty)} is missing`].filter(Boolean).join('.')
  if (name === '') return 'The body must be a JSON object'
  // A parameter that is given twice is a list.
  if (keyword === 'type' && validationContext === 'querystring') return `${name} is given more than once`
  const atSamePlace = faults.filter((each) => each.instancePath === instancePath)
  const end = sentenceEnds[keyword]?.(fault, atSamePlace, schemaWith(schemaPath, schema))
  return end && `${name} ${end}`
}
