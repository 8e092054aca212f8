import { type Static, type TSchema, Type } from 'typebox'
import { Id, Moment, ServiceUser } from './schemas.js'
import { type ChangedSecondFactor, secondFactors } from './second-factors.js'

const JustUser = Type.Object({ id: Id })
const Origin = { ip: Type.String(), userAgent: Type.String() }
const Factor = Type.Unsafe<'password' | ChangedSecondFactor>({
  type: 'string',
  enum: ['password', ...Object.values(secondFactors).map(({ changedAs }) => changedAs)],
})

/**
 * Every type of webhook: when it is sent, and its data. `data.user.id` is in all of them. The first four are written by triggers
 * (in migrations/; ARCHITECTURE.md lists them), the others by `webhooks.queue`, which takes any type of this table.
 */
export const webhookTypes = {
  'user.created': {
    when: 'A user registered, signed in at a provider for the first time, or was added by an operator',
    data: Type.Object({ user: ServiceUser }),
  },
  'user.updated': {
    when: 'Part of the data of this webhook has changed: an address, a name, a group, a profile field, a linked provider, or whether the user is disabled',
    data: Type.Object({ user: ServiceUser }),
  },
  'user.deleted': {
    when: 'A user was deleted',
    data: Type.Object({ user: JustUser }),
  },
  'user.signed_in': {
    when: 'A session began',
    data: Type.Object({
      user: JustUser,
      session: Type.Object({
        id: Id,
        methods: Type.Array(Type.String(), { description: 'How the user proved who they are, as in `amr`' }),
        ...Origin,
      }),
    }),
  },
  'factor.changed': {
    when: 'The password of a user was changed or reset, was expired by an operator, or was chosen anew or removed when the account was taken back; two-step sign-in was switched on or off, or got another app; recovery codes were made anew; a passkey was added or removed',
    data: Type.Object({ user: JustUser, factor: Factor }),
  },
  'session.theft_suspected': {
    when: 'An old refresh token was used again, and its session was ended. `ip` and `userAgent` are those of the request with the old token',
    data: Type.Object({ user: JustUser, session: Type.Object({ id: Id, ...Origin }) }),
  },
} as const satisfies Record<string, { when: string; data: TSchema }>

export type WebhookType = keyof typeof webhookTypes
/** The data type is computed once for each webhook type: otherwise the compiler would compare schemas for seconds. */
type AllWebhookData = { [Name in WebhookType]: Static<(typeof webhookTypes)[Name]['data']> }
export type WebhookData<Name extends WebhookType> = AllWebhookData[Name]

/** `type` says which `data` the body has. */
export type WebhookBody = {
  [Name in WebhookType]: { type: Name; timestamp: string; data: WebhookData<Name> }
}[WebhookType]

const nameOf = (type: string) =>
  `Webhook${type.replaceAll(/(?:^|[._])(\w)/g, (_, letter: string) => letter.toUpperCase())}`

/** The body of a webhook. */
export const webhookBody = (type: WebhookType) =>
  Type.Object(
    {
      type: Type.Literal(type),
      timestamp: Type.Unsafe<string>({
        ...Moment,
        description: 'When it happened; `webhook-timestamp` says when it was sent',
      }),
      data: webhookTypes[type].data,
    },
    { title: nameOf(type) },
  )
