import { type Static, Type } from 'typebox'
import { openidScopes } from './authorization.js'
import { OneOf } from './refusal-bodies.js'
import { Id, Moment, NamedApplication, Nullable, StepUpMethods } from './schemas.js'

/** The next step of the page for a device that waits. `approved` and `denied`: the user has answered. */
const deviceSteps = ['no_access', 'enrol', 'sign_in', 'prove', 'approve', 'approved', 'denied'] as const
export type DeviceStep = (typeof deviceSteps)[number]

const code = Type.String({ maxLength: 64, description: 'As the device shows it' })

export const DeviceQuestion = Type.Object({ code })

const deviceAnswers = ['approve', 'deny'] as const

export const DeviceAnswer = Type.Object({
  code,
  user: Type.String({
    maxLength: 64,
    description: 'The user whom the page has shown: of another one nothing is decided',
  }),
  answer: OneOf(deviceAnswers),
})
export type DeviceAnswer = Static<typeof DeviceAnswer>

export const DeviceState = Type.Object(
  {
    next: OneOf(deviceSteps),
    code: Type.String({ description: 'As the device shows it: the user compares' }),
    application: NamedApplication,
    user: Type.Object({ id: Id, username: Type.String() }, { description: 'Who is signed in' }),
    scopes: Type.Array(OneOf(openidScopes), { description: 'What the user is asked to share' }),
    methods: Type.Optional({ ...StepUpMethods.properties.methods, description: 'With `prove`: what is enough' }),
    from: Type.Object(
      {
        ip: Type.String(),
        device: Type.String(),
        browser: Nullable(Type.String()),
        system: Nullable(Type.String()),
        userAgent: Type.String(),
        askedAt: Moment,
        sameNetwork: Type.Boolean({ description: 'Whether the browser that asks is in the same network' }),
      },
      { description: 'Where the request of the device came from' },
    ),
  },
  { title: 'DeviceState' },
)
export type DeviceState = Static<typeof DeviceState>
