/** `web` keeps a secret on its server; `browser` and `native` run where no secret can be kept. */
export type ApplicationKind = 'web' | 'browser' | 'native'

/** A program that signs its users in here. Its `id` is the `client_id` of the protocol. */
export type Application = {
  id: string
  name: string
  /** The URL to which our pages lead users back, for example when a request has expired. */
  home: string
  kind: ApplicationKind
  redirectAddresses: readonly string[]
  logoutAddresses: readonly string[]
  backchannelLogout: string | undefined
  /** `groups`: only members of one of the groups get in. If the list is empty, no user does. */
  access: 'everyone' | 'groups'
  groups: readonly string[]
  factors: 1 | 2
  /** How old the user's last proof may be, in milliseconds. Undefined: a sign-in of any age is enough. */
  maxAge: number | undefined
  consent: 'none' | 'ask'
  pkce: boolean
  algorithm: 'RS256' | 'ES256'
  /** Whether devices without a browser may sign in with it (RFC 8628). Only for `native`. */
  deviceFlow: boolean
  createdAt: Date
}

/** The part of an application that users see. */
export const publicApplication = ({ name, home }: Application) => ({ name, home })

/** Why devices without a browser may not sign in with the application. The developer of the program reads it, so it is ASCII. */
export const deviceFlowFault = ({ kind, deviceFlow }: Pick<Application, 'kind' | 'deviceFlow'>) => {
  if (deviceFlow) return undefined
  return kind === 'native'
    ? 'The device flow is off for this client. An operator switches it on: latchkey application change NAME --device'
    : 'Only a client of the kind native can have the device flow'
}

/** Whether a user who is in these groups may use the application. */
export const mayUse = ({ access, groups }: Pick<Application, 'access' | 'groups'>, userGroups: readonly string[]) =>
  access === 'everyone' || groups.some((group) => userGroups.includes(group))
