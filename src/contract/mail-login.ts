import { type Static, Type } from 'typebox'
import { nextSteps } from './factors.js'
import { ProfileFieldDefinition } from './profile-fields.js'
import { OneOf } from './refusal-bodies.js'
import { nextStep, TermsOfUse } from './schemas.js'

/** The mail has proven an address that has no account yet. `username` is a proposal; `fields` and `terms` are asked for. */
const registrationStep = {
  email: Type.String(),
  username: Type.String(),
  fields: Type.Array(ProfileFieldDefinition),
  terms: Type.Optional(TermsOfUse),
}
export const MailRegistration = Type.Object(registrationStep, { title: 'MailRegistration' })
export type MailRegistration = Static<typeof MailRegistration>

/** The next step after a sign-in by mail: that of any sign-in, or the registration of an address without an account. */
export const MailLoginNext = Type.Object(
  { ...nextStep, next: OneOf([...nextSteps, 'registration'] as const), ...Type.Partial(MailRegistration).properties },
  { title: 'MailLoginNext' },
)
export type MailLoginNext = Static<typeof MailLoginNext>

/** The state of a mailed link in this browser: it signs in, belongs to another browser, or does not work any more. */
export const MailLoginLink = Type.Object(
  { state: OneOf(['usable', 'other_browser', 'over'] as const) },
  { title: 'MailLoginLink' },
)
export type MailLoginLink = Static<typeof MailLoginLink>
