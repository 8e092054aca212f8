import type { Revocations } from '#contract/schemas.js'
import type {
  ServiceAction,
  ServiceFieldsPatch,
  ServiceGroup,
  ServiceGroups,
  ServiceGroupsPatch,
  ServiceInvitation,
  ServiceInvitations,
  ServiceInvite,
  ServiceListedUser,
  ServiceTokenState,
  ServiceUserFields,
  ServiceUserFound,
  ServiceUserGroups,
  ServiceUserState,
  ServiceUsers,
} from '#contract/service.js'
import { createRequests, type Requests, type ServiceClientOptions } from './requests.js'

export type { Revocations, ServiceUser } from '#contract/schemas.js'
export type {
  ServiceAction,
  ServiceFieldsPatch,
  ServiceGroup,
  ServiceGroupsPatch,
  ServiceInvitation,
  ServiceInvite,
  ServiceListedUser,
  ServiceTokenState,
  ServiceUsers,
} from '#contract/service.js'
export type { WebhookBody } from '#contract/webhooks.js'
export { ServiceError, type ServiceErrorCode } from './service-error.js'
export { verifyWebhook, type WebhookHeaders } from './webhooks.js'
export type { ServiceClientOptions }

export type UserQuery = {
  /** The beginning of a username, an address, a name or a last name; or an id. */
  readonly search?: string
  /** Only the members of this group. */
  readonly group?: string
  /** Only users without an authenticator app and without a passkey. */
  readonly secondFactor?: 'none'
}
export type UserPageQuery = UserQuery & {
  /** `next` of the page before. */
  readonly after?: string
  /** The number of users in a page, 1 to 200. Default: 50. */
  readonly limit?: number
}

const createUserCalls = ({ send, find }: Requests) => {
  const list = (query: UserPageQuery = {}) => send<ServiceUsers>('POST', 'users/search', { body: query })

  /** Every user of a query, page after page. */
  async function* each(query: UserQuery = {}): AsyncGenerator<ServiceListedUser, void, undefined> {
    let after: string | null | undefined
    do {
      const { users, next } = await list({ ...query, limit: 200, ...(after && { after }) })
      yield* users
      after = next
    } while (after !== null)
  }

  const userIn = async <User>(answer: Promise<{ user: User }>) => (await answer).user
  const path = (id: string, change: string) => `users/${encodeURIComponent(id)}/${change}`

  return {
    /** `users:read` */
    list,
    each,
    /** Undefined if there is no such user. */
    find: async (id: string) => (await find<ServiceUserFound>('GET', `users/${encodeURIComponent(id)}`))?.user,
    findByEmail: async (email: string) =>
      (await find<ServiceUserFound>('POST', 'users/search', { body: { email } }))?.user,
    /** `users:write` */
    disable: (id: string, body: ServiceAction & { reason: string }) =>
      userIn(send<ServiceUserState>('POST', path(id, 'disable'), { body })),
    /** Throws `locked_down` for an account that was locked down: only an administrator enables it. */
    enable: (id: string, body: ServiceAction = {}) =>
      userIn(send<ServiceUserState>('POST', path(id, 'enable'), { body })),
    /** Returns the `id` and the fields that `body` names. */
    changeFields: (id: string, body: ServiceFieldsPatch) =>
      userIn(send<ServiceUserFields>('PATCH', path(id, 'fields'), { body })),
    /** `groups` */
    changeGroups: (id: string, body: ServiceGroupsPatch) =>
      userIn(send<ServiceUserGroups>('PATCH', path(id, 'groups'), { body })),
    /** `sessions:end` */
    signOut: (id: string) => send<undefined>('POST', path(id, 'sign-out')),
  }
}

/** One function for each request. A refusal is thrown as a `ServiceError`. A comment names the scope that the calls below it need. */
export const createServiceClient = (options: ServiceClientOptions) => {
  const requests = createRequests(options)
  const { send } = requests
  return {
    users: createUserCalls(requests),
    /** `invitations`, and `groups` if an invitation has groups. */
    invitations: {
      /** The open invitations of every maker, or with `mine` only those of this key. */
      list: async ({ mine }: { readonly mine?: boolean | undefined } = {}) =>
        (await send<ServiceInvitations>('GET', 'invitations', { query: { mine: mine ? 'true' : undefined } }))
          .invitations,
      /** Replaces the open invitation of this key for the address, and keeps what `body` leaves out. */
      create: (body: ServiceInvite) => send<ServiceInvitation>('POST', 'invitations', { body }),
      /** Withdraws the invitation of this key. */
      delete: (email: string) => send<undefined>('DELETE', 'invitations', { body: { email } }),
    },
    /** `groups` */
    groups: {
      list: async () => (await send<ServiceGroups>('GET', 'groups')).groups,
      /** Adds the group. It is no error if the group is there already. */
      add: (name: string) => send<ServiceGroup>('POST', 'groups', { body: { name } }),
      delete: (name: string) => send<undefined>('DELETE', 'groups', { body: { name } }),
    },
    /** `revocations:read`. `@latchkey/verify` follows this list for you. */
    revocations: (query: { after?: string; wait?: number } = {}) => send<Revocations>('GET', 'revocations', { query }),
    /** `tokens:read`. The guards of `@latchkey/verify` ask it for you. */
    checkToken: (token: string) => send<ServiceTokenState>('POST', 'token', { body: { token } }),
  }
}

export type ServiceClient = ReturnType<typeof createServiceClient>
