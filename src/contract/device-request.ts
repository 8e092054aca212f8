import { type Static, Type } from 'typebox'
import { openidScopes } from './authorization.js'
import { OneOf } from './refusal-bodies.js'
import { Id, Moment, NamedApplication, Nullable, StepUpMethods } from './schemas.js'

/** The next step of the page for a device that waits. `approved` and `denied`: the user has answered. */
const deviceSteps = ['no_access', 'enrol', 'sign_in', 'prove', 'approve', 'approved', 'denied'] as const
export type DeviceStep = (typeof deviceSteps)[number]

const code = Type.String({ maxLength: 64, description: 'As the device shows it' })

export const DeviceCodeBody = Type.Object({ code })

const deviceAnswers = ['approve', 'deny'] as const

export const DeviceDecisionBody = Type.Object({
  code,
  user: Type.String({
    maxLength: 64,
    description: 'The id of the user whom the page has shown. If another user is signed in by now, nothing is decided',
  }),
  answer: OneOf(deviceAnswers),
})
export type DeviceDecisionBody = Static<typeof DeviceDecisionBody>

export const DeviceState = Type.Object(
  {
    next: OneOf(deviceSteps),
    code: Type.String({ description: 'As the device shows it, so that the user can compare both' }),
    application: NamedApplication,
    user: Type.Object({ id: Id, username: Type.String() }, { description: 'Who is signed in' }),
    scopes: Type.Array(OneOf(openidScopes), { description: 'What the user is asked to share' }),
    methods: Type.Optional({
      ...StepUpMethods.properties.methods,
      description: 'With `prove`: each of these proofs is enough',
    }),
    from: Type.Object(
      {
        ip: Type.String(),
        device: Type.String(),
        browser: Nullable(Type.String()),
        system: Nullable(Type.String()),
        userAgent: Type.String(),
        askedAt: Moment,
        sameNetwork: Type.Boolean({ description: 'Whether this browser is in the same network as the device' }),
      },
      { description: 'Where the request of the device came from' },
    ),
  },
  { title: 'DeviceState' },
)
export type DeviceState = Static<typeof DeviceState>
