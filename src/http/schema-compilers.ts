import { AjvCompiler } from '@fastify/ajv-compiler'
import { SerializerSelector } from '@fastify/fast-json-stringify-compiler'
import type { FastifyInstance, FastifySchemaValidationError } from 'fastify'

type Validate = { (data: unknown): boolean; errors?: FastifySchemaValidationError[] | null }

/**
 * Nothing is converted, and what a schema does not name is removed. The schemas themselves are not validated here: TypeBox
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

/**
 * Uses Fastify's own compilers, but compiles each schema when it is first used. At the start that would take half of the time:
 * there are hundreds, and most describe refusals that are rarely sent.
 */
export const compileSchemasWhenNeeded = (
  server: Pick<FastifyInstance, 'setValidatorCompiler' | 'setSerializerCompiler'>,
) => {
  const validators = whenNeeded(() => AjvCompiler()({}, { customOptions: ajvOptions, plugins: [] }))
  server.setValidatorCompiler((route) => {
    const compiled = whenNeeded(() => validators()(route) as Validate)
    const validate: Validate = (data) => {
      const isValid = compiled()(data)
      validate.errors = compiled().errors ?? null
      return isValid
    }
    return validate
  })
  const serializers = whenNeeded(() => SerializerSelector()({}, {}))
  server.setSerializerCompiler((route) => {
    const compiled = whenNeeded(() => serializers()({ httpStatus: '', ...route }))
    return (answer: unknown) => compiled()(answer)
  })
}
