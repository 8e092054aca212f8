import { addressFault, addressFaults, longestApplicationName } from '../../applications/application-rules.js'
import type { Access } from '../../applications/applications.js'
import type { ResourceShape } from '../../contract/configuration.js'
import { type Refused, refuse } from '../../contract/outcome.js'
import type { KeyAlgorithm } from '../../keys/key-pair.js'
import { displayName } from '../../users/names.js'

/** `description`: what the user reads. Without one it is the name, or our own words for `profile`, `email` and `groups`. */
export type ResourceScope = { name: string; description: string | null }

/** An API or a server for which programs get tokens that are good nowhere else. Its address is their audience. */
export type Resource = Access & {
  id: string
  address: string
  name: string
  scopes: readonly ResourceScope[]
  algorithm: KeyAlgorithm
  createdAt: Date
  /** The configuration file that owns it. */
  setByFile: string | null
}

export type NewResource = Omit<Resource, 'id' | 'createdAt' | 'setByFile'>
/** The address is in tokens and in the settings of programs, so it cannot change. */
export type ResourceChange = Partial<Omit<NewResource, 'address'>>

/** As it is kept and compared: as a URL parser writes it, where a lone slash after the host makes no difference. */
export const normalResource = (text: string) => {
  if (!URL.canParse(text)) return undefined
  const { href, pathname } = new URL(text)
  return pathname === '/' && href.endsWith('/') ? href.slice(0, -1) : href
}

const longestAddress = 500
const maxScopes = 20
const longestDescription = 120
const scopeShape = /^[A-Za-z0-9._:/-]{1,64}$/
/** They have a meaning of their own in every request. */
const reservedScopes = ['openid', 'offline_access']

const faults = {
  ...addressFaults,
  too_long: `is longer than ${longestAddress} characters`,
  query: 'has a query (?)',
  encoded: 'has a % in its path, which not every program reads alike',
  own: 'is an address of Latchkey itself',
} as const

export type ResourceRefusal =
  | (Refused<'bad_resource'> & { address: string; fault: keyof typeof faults })
  | Refused<'bad_name'>
  | (Refused<'bad_scope'> & { scope: string })
  | Refused<'too_many_scopes'>

/** Of an application on our host, the address says more than the host. */
const ownPaths = /^\/(?:$|api\/(?:auth|service)(?:\/|$)|\.well-known(?:\/|$)|\.latchkey(?:\/|$))/

export type ResourceContext = { production: boolean; publicUrl: string }

const faultOfAddress = (
  address: string,
  { production, publicUrl }: ResourceContext,
): keyof typeof faults | undefined => {
  const fault = addressFault(address, { kind: 'web', production })
  if (fault) return fault
  if (address.includes('?')) return 'query'
  if (address.includes('%')) return 'encoded'
  const { origin, pathname } = new URL(address)
  if (origin === new URL(publicUrl).origin && ownPaths.test(pathname)) return 'own'
  return address.length > longestAddress ? 'too_long' : undefined
}

const isScope = ({ name, description }: ResourceScope) =>
  scopeShape.test(name) &&
  !reservedScopes.includes(name) &&
  (description === null || displayName(description, longestDescription) === description)

/** Finds the fault of a resource, before anything is written. */
export const resourceFault = (
  { address, name, scopes }: NewResource,
  context: ResourceContext,
): ResourceRefusal | undefined => {
  const fault = faultOfAddress(address, context)
  if (fault) return refuse('bad_resource', { address, fault })
  if (displayName(name, longestApplicationName) !== name) return refuse('bad_name')
  if (scopes.length > maxScopes) return refuse('too_many_scopes')
  const names = scopes.map((each) => each.name)
  const bad = scopes.find((each, index) => !isScope(each) || names.indexOf(each.name) !== index)
  return bad && refuse('bad_scope', { scope: bad.name })
}

/** Sentences for operators whose command or file describes a resource that is refused. */
const sentences: {
  [Code in ResourceRefusal['refused']]: (refusal: Extract<ResourceRefusal, { refused: Code }>) => string
} = {
  bad_resource: ({ address, fault }) => `${address} ${faults[fault]}.`,
  bad_name: () =>
    `A name has 1 to ${longestApplicationName} characters in one line, without spaces at its ends or characters that cannot be seen.`,
  bad_scope: ({ scope }) =>
    `The scope ${scope} cannot be used: give each once, with 1 to 64 letters, digits and . _ : / -, with a description of at most ${longestDescription} characters in one line, and not openid or offline_access.`,
  too_many_scopes: () => `A resource has at most ${maxScopes} scopes.`,
}

export const resourceRefusalSentence = (refusal: ResourceRefusal) =>
  (sentences[refusal.refused] as (refusal: ResourceRefusal) => string)(refusal)

export type ResourceTaken = Refused<'resource_taken'> & { taken: 'address' | 'name'; by: string }

export const resourceTakenSentence = ({ taken, by }: ResourceTaken) =>
  taken === 'address' ? `The resource ${by} has this address.` : `Another resource has the name ${by}.`

/** In the words of a file, with every value. */
export const fullResourceShapeOf = ({
  address,
  scopes,
  access,
  groups,
  algorithm,
}: Omit<NewResource, 'name'>): Required<ResourceShape> => ({
  address,
  scopes: Object.fromEntries(scopes.map(({ name, description }) => [name, description])),
  allow: access === 'everyone' ? 'everyone' : [...groups],
  algorithm,
})

/** As a file describes it. Defaults are left out. */
export const resourceShapeOf = (resource: Omit<NewResource, 'name'>): ResourceShape => {
  const { scopes, algorithm, ...shape } = fullResourceShapeOf(resource)
  return {
    ...shape,
    ...(resource.scopes.length > 0 && { scopes }),
    ...(algorithm !== 'ES256' && { algorithm }),
  }
}

/** What a request can change. Null: back to the default. */
export type ResourcePatch = { [Name in Exclude<keyof ResourceShape, 'address'>]?: ResourceShape[Name] | null } & {
  name?: string | undefined
}

const scopesFrom = (scopes: ResourceShape['scopes'] | null): ResourceScope[] =>
  Object.entries(scopes ?? {}).map(([name, description]) => ({ name, description }))

const accessFrom = (allow: ResourceShape['allow'] | null): Access =>
  allow === 'everyone' ? { access: 'everyone', groups: [] } : { access: 'groups', groups: [...new Set(allow)].sort() }

/** As `--scope` has it. */
const scopeText = ({ name, description }: ResourceScope) => (description === null ? name : `${name}=${description}`)

export const scopeFromText = (text: string): ResourceScope => {
  const [name = '', ...words] = text.split('=')
  return { name, description: words.join('=').trim() || null }
}

/**
 * A resource as its events keep it: in the words of a file, but with its scopes as a list. The keys of an object lose their order there,
 * and users are asked in this order.
 */
export type RecordedResource = Omit<ResourceShape, 'scopes'> & { scopes?: readonly string[] }

export const recordedResource = (resource: Omit<NewResource, 'name'>): RecordedResource => {
  const { scopes: _, ...shape } = resourceShapeOf(resource)
  return { ...shape, ...(resource.scopes.length > 0 && { scopes: resource.scopes.map(scopeText) }) }
}

/** The same with every value and the name, to be compared. */
export const recordedValues = (resource: NewResource) => ({
  name: resource.name,
  ...fullResourceShapeOf(resource),
  scopes: resource.scopes.map(scopeText),
})

const scopesFromTexts = (texts: readonly string[]) =>
  Object.fromEntries(texts.map(scopeFromText).map(({ name, description }) => [name, description]))

export const shapeFromRecorded = <Recorded extends { scopes?: readonly string[] | null }>({
  scopes,
  ...shape
}: Recorded) => ({ ...shape, ...(scopes && { scopes: scopesFromTexts(scopes) }) })

export const resourceChangeFrom = ({ name, scopes, allow, algorithm }: ResourcePatch): ResourceChange => ({
  ...(name !== undefined && { name }),
  ...(scopes !== undefined && { scopes: scopesFrom(scopes) }),
  ...(allow !== undefined && accessFrom(allow)),
  ...(algorithm !== undefined && { algorithm: algorithm ?? 'ES256' }),
})

export const resourceFrom = (
  name: string,
  { address, scopes = {}, allow, algorithm = 'ES256' }: ResourceShape,
): NewResource => ({
  name,
  address: normalResource(address) ?? address,
  scopes: scopesFrom(scopes),
  ...accessFrom(allow),
  algorithm,
})

export const scopeNames = ({ scopes }: Pick<Resource, 'scopes'>) => scopes.map(({ name }) => name)

/** What the author of a server pastes, with `@latchkey/verify`. The values are JSON, which JavaScript reads as it is. */
export const guardLines = (resource: Resource, publicUrl: string) => {
  const { pathname } = new URL(resource.address)
  const paths = pathname === '/' ? '' : `[${JSON.stringify(pathname)}, guard.metadataPath], `
  return `import { resourceAuthOf, resourceGuard } from '@latchkey/verify/resource'

const guard = resourceGuard({
  publicUrl: ${JSON.stringify(publicUrl)},
  resource: ${JSON.stringify(resource.address)},
  scopes: ${JSON.stringify(scopeNames(resource))},
  // The key: latchkey service-key add mcp --scope revocations:read
  revocations: { serviceKey: process.env.LATCHKEY_SERVICE_KEY },
})
// For Express. guard.node, guard.hono, guard.fastify, guard.fetch and guard.next(handler) are the same.
app.use(${paths}guard.express)
// resourceAuthOf(request) has the user, the program and its scopes.`
}
