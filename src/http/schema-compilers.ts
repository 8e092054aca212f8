import { AjvCompiler } from '@fastify/ajv-compiler'
import { SerializerSelector } from '@fastify/fast-json-stringify-compiler'
import type { FastifyInstance, FastifySchemaValidationError } from 'fastify'

type Validate = { (data: unknown): boolean; errors?: FastifySchemaValidationError[] | null }

/**
 * Values are not converted, and properties that a schema does not name are removed. The schemas themselves are not validated here: TypeBox
 * makes them, and a test validates the API document, which has all of them.
 */
const ajvOptions = {
  coerceTypes: false,
  removeAdditional: 'all',
  useDefaults: false,
  allErrors: false,
  validateSchema: false,
} as const

/** Calls `make` when the value is first asked for. */
const whenNeeded = <Value>(make: () => Value) => {
  let cache: { value: Value } | undefined
  return () => {
    cache ??= { value: make() }
    return cache.value
  }
}

/** Compiles a schema once for all routes that have it in common, above all those of refusals. */
const oncePerSchema = <Compiled>(compile: (schema: unknown) => Compiled) => {
  const known = new Map<string, Compiled>()
  return (schema: unknown) => {
    const text = JSON.stringify(schema)
    const compiled = known.get(text) ?? compile(schema)
    known.set(text, compiled)
    return compiled
  }
}

/** Fastify's own compilers, which compile each schema once. Several servers may share them. */
export const createSchemaCompilers = () => {
  const validators = whenNeeded(() => AjvCompiler()({}, { customOptions: ajvOptions, plugins: [] }))
  const serializers = whenNeeded(() => SerializerSelector()({}, {}))
  const place = { method: '', url: '', httpStatus: '' }
  return {
    validator: oncePerSchema((schema) => validators()({ ...place, schema }) as Validate),
    serializer: oncePerSchema((schema) => serializers()({ ...place, schema })),
  }
}

export type SchemaCompilers = ReturnType<typeof createSchemaCompilers>

/**
 * Compiles each schema when it is first used. To compile all of them at the start would double its time: there are hundreds, and most
 * describe refusals that are rarely sent.
 */
export const compileSchemasWhenNeeded = (
  server: FastifyInstance,
  { validator, serializer }: SchemaCompilers = createSchemaCompilers(),
) => {
  server.setValidatorCompiler(({ schema }) => {
    const compiled = whenNeeded(() => validator(schema))
    const validate: Validate = (data) => {
      const isValid = compiled()(data)
      validate.errors = compiled().errors ?? null
      return isValid
    }
    return validate
  })
  server.setSerializerCompiler(({ schema }) => {
    const compiled = whenNeeded(() => serializer(schema))
    return (answer: unknown) => compiled()(answer)
  })
}
