import { applicationRefusalSentence, type NewApplicationRefusal } from '../applications/application-changes.js'
import type { Access } from '../applications/applications.js'
import { refuse } from '../contract/outcome.js'
import { type ResourceRefusal, resourceRefusalSentence } from '../openid/resources/resource.js'

export const tag = 'administrators'

/** Why the value cannot be, in the body of the answer. */
export const invalid = (fault: string, message: string, value?: string) =>
  refuse('invalid_configuration', { fault, message, ...(value !== undefined && { value }) })

export const codesOfTheirOwn = ['name_taken', 'origin_taken', 'id_taken', 'no_group'] as const
type OwnCode = (typeof codesOfTheirOwn)[number]

const hasOwnCode = (code: string): code is OwnCode => codesOfTheirOwn.some((each) => each === code)

/** A refusal of the rules of applications, as the API answers it. */
export const asAnswer = (refusal: NewApplicationRefusal) => {
  const { refused } = refusal
  const message = applicationRefusalSentence(refusal)
  if (hasOwnCode(refused)) return refuse(refused, { message })
  const details: Readonly<Record<string, string | undefined>> = { ...refusal }
  return invalid(refused, message, details.address ?? details.path ?? details.group)
}

/** The same of the rules of resources. */
export const resourceAnswer = (refusal: ResourceRefusal) => {
  const message = resourceRefusalSentence(refusal)
  if (refusal.refused === 'bad_resource') return invalid('bad_address', message, refusal.address)
  return invalid(refusal.refused, message, refusal.refused === 'bad_scope' ? refusal.scope : undefined)
}

/** The version that the caller has read. Without it a form that was left open would put back what was removed since. */
export const expectedVersion = ({ headers }: { headers: { readonly 'if-match'?: string | undefined } }) => {
  const [, version] = /^(?:W\/)?"([\w-]{1,64})"$/.exec(headers['if-match'] ?? '') ?? []
  return version ?? refuse('bad_request', { message: 'Send the version that you have read as If-Match: "VERSION"' })
}

/** Whether some users may lose their access. */
export const takesAway = (before: Access, after: Partial<Access>) =>
  after.access === 'groups' &&
  (before.access === 'everyone' || before.groups.some((group) => !after.groups?.includes(group)))
