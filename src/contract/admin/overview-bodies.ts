import { type Static, Type } from 'typebox'
import { OneOf } from '../refusal-bodies.js'
import { Moment, Nullable } from '../schemas.js'

/** Things that an operator should look at. */
const attentionCodes = [
  'mails_failing',
  'mails_refused',
  'mails_given_up',
  'webhooks_stopped',
  'webhooks_given_up',
  'webhooks_waiting',
  'logout_notices_given_up',
  'logout_notices_waiting',
  'signing_key_unreadable',
  'signing_key_due',
  'application_key_unreadable',
  'application_key_due',
  'ceiling_reached',
  'clock_off',
  'disk_nearly_full',
  'configuration_refused',
  'configuration_released',
  'application_without_secret',
] as const
export type AttentionCode = (typeof attentionCodes)[number]

const Day = Type.String({ format: 'date', description: 'In UTC' })

/** `GET /overview`: both days, or none, in the last 90 days. */
export const AdminOverviewQuery = Type.Object({ from: Type.Optional(Day), to: Type.Optional(Day) })
export const AdminOverview = Type.Object(
  {
    attention: Type.Array(
      Type.Object({
        code: OneOf<AttentionCode>(attentionCodes),
        message: Type.String({ description: 'A sentence in English' }),
        count: Nullable(Type.Integer()),
        since: Nullable(Moment),
        detail: Nullable(Type.String({ description: 'What the other side answered last, if that is known' })),
      }),
    ),
    days: Type.Array(
      Type.Object({
        day: Day,
        signIns: Type.Integer(),
        failures: Type.Integer(),
        newUsers: Type.Integer(),
      }),
      { description: 'Oldest first. Without `from` and `to` the last 30 days; the last one is today' },
    ),
    before: Nullable(
      Type.Object(
        { signIns: Type.Integer(), failures: Type.Integer(), newUsers: Type.Integer() },
        {
          description:
            'The numbers of as many days before these. Null if they began more than 90 days ago, as events are not kept longer',
        },
      ),
    ),
  },
  { title: 'AdminOverview' },
)
export type AdminOverview = Static<typeof AdminOverview>
