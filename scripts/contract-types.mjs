// Writes the types of the contract as one text without imports, for packages that are published by themselves. The schemas of the
// bodies become types, so that no package needs the library of the schemas.
import { fileURLToPath } from 'node:url'
import { build } from 'esbuild'

const home = fileURLToPath(new URL('..', import.meta.url))

/**
 * @typedef {{ title?: string, type?: string | string[], const?: unknown, enum?: unknown[], anyOf?: Schema[], items?: Schema,
 * properties?: Record<string, Schema>, patternProperties?: Record<string, Schema>, required?: string[] }} Schema
 */

export const contractTypes = async () => {
  const { schemas, webhooks, refusalCodes, countingFactors, proofMethods, languages } = await readContract()
  const titledSchemas = [...Object.values(schemas), ...webhooks].flatMap(titledIn)
  const bodies = new Map(titledSchemas.map((schema) => [schema.title ?? '', schema]))
  bodies.delete('RefusalCode')
  bodies.delete('ProviderId')
  const types = [
    ['RefusalCode', unionOf(refusalCodes)],
    ['CountingFactor', unionOf(countingFactors)],
    ['ProofMethod', unionOf(proofMethods)],
    ['Language', unionOf(languages)],
    ['ProviderId', `\`provider_\${string}\``],
    ['Refused<Code extends string = string>', '{ readonly refused: Code }'],
    ['WebhookBody', webhooks.map(({ title }) => title).join(' | ')],
    ...[...bodies].map(([name, schema]) => [name, typeOf({ ...schema, title: undefined })]),
  ]
  return `${types.map(([name, text]) => `export type ${name} = ${text}`).join('\n')}\n`
}

/**
 * The contract is TypeScript, so it is bundled in memory and read from there.
 * @returns {Promise<{ schemas: Record<string, Schema>, webhooks: Schema[], refusalCodes: string[], countingFactors: string[], proofMethods: string[], languages: string[] }>}
 */
const readContract = async () => {
  const { outputFiles } = await build({
    absWorkingDir: home,
    stdin: {
      contents: `import * as bodies from './src/contract/schemas.js'
        import * as refusalBodies from './src/contract/refusal-bodies.js'
        import * as linkedAccounts from './src/contract/account-export.js'
        import * as mailedLinks from './src/contract/mailed-links.js'
        import * as mailLogin from './src/contract/mailed-links.js'
        import * as passkeys from './src/contract/passkeys.js'
        import { MadePersonalToken, NewPersonalToken, PersonalTokens } from './src/contract/personal-tokens.js'
        import * as serviceBodies from './src/contract/service.js'
        import * as serviceToken from './src/contract/service.js'
        import { webhookBody, webhookTypes } from './src/contract/webhooks.js'
        import { AccountExport } from './src/contract/account-export.js'
        import { InvalidFields, ProfileFieldDefinition } from './src/contract/profile-fields.js'
        export const schemas = { ...refusalBodies, ...bodies, ...linkedAccounts, ...mailedLinks, ...mailLogin, ...passkeys, ...serviceBodies, ...serviceToken, InvalidFields, ProfileFieldDefinition, AccountExport, MadePersonalToken, NewPersonalToken, PersonalTokens }
        export const webhooks = Object.keys(webhookTypes).map(webhookBody)
        export { countingFactors, proofMethods } from './src/contract/second-factors.js'
        export { languages } from './src/contract/languages.js'
        export { refusalCodes } from './src/contract/refusals.js'`,
      resolveDir: home,
    },
    bundle: true,
    format: 'esm',
    platform: 'neutral',
    write: false,
    logLevel: 'warning',
  })
  return import(`data:text/javascript;base64,${Buffer.from(outputFiles[0]?.contents ?? '').toString('base64')}`)
}

/** The schemas with a title: this one, and those inside of it. @type {(schema: Schema) => Schema[]} */
const titledIn = (schema) => [
  ...[
    ...Object.values(schema.properties ?? {}),
    ...(schema.anyOf ?? []),
    ...(schema.items ? [schema.items] : []),
    ...Object.values(schema.patternProperties ?? {}),
  ].flatMap(titledIn),
  ...(schema.title === undefined ? [] : [schema]),
]

/** @type {(schema: Schema) => string} */
export const typeOf = (schema) => {
  if (schema.title !== undefined) return schema.title
  if (schema.const !== undefined) return JSON.stringify(schema.const)
  if (schema.enum) return unionOf(schema.enum)
  if (schema.anyOf) return schema.anyOf.map(typeOf).join(' | ')
  if (Array.isArray(schema.type)) return schema.type.map((type) => typeOf({ ...schema, type })).join(' | ')
  if (schema.type === 'array' && schema.items) return `(${typeOf(schema.items)})[]`
  if (schema.type === 'object') return objectOf(schema)
  const plainTypes = { string: 'string', boolean: 'boolean', null: 'null', integer: 'number', number: 'number' }
  const plainType = Object.entries(plainTypes).find(([name]) => name === schema.type)
  if (!plainType) throw new Error(`scripts/contract-types.mjs cannot write the type of ${JSON.stringify(schema)}`)
  return plainType[1]
}

/** @type {(schema: Schema) => string} */
const objectOf = ({ properties = {}, patternProperties = {}, required = [] }) => {
  const [each] = Object.values(patternProperties)
  if (each) return `Record<string, ${typeOf(each)}>`
  const fields = Object.entries(properties).map(
    ([name, schema]) => `${name}${required.includes(name) ? '' : '?'}: ${typeOf(schema)}`,
  )
  return `{ ${fields.join('; ')} }`
}

/** @type {(values: unknown[]) => string} */
const unionOf = (values) => values.map((value) => JSON.stringify(value)).join(' | ')
