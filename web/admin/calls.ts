import type { Static } from 'typebox'
import { createAdminRequests } from '#client/admin-requests.js'
import { adminPath, type UserAction } from '#contract/admin/admin-api.js'
import type {
  AdminAddedApplication,
  AdminAddedSecret,
  AdminApplication,
  AdminApplicationLines,
  AdminApplicationPatch,
  AdminApplications,
  AdminChangeBack,
  AdminChangedBack,
  AdminEndToken,
  AdminEvent,
  AdminEventQuery,
  AdminEvents,
  AdminFields,
  AdminGroup,
  AdminGroupDeletion,
  AdminGroupsPatch,
  AdminInvitation,
  AdminInvite,
  AdminNewApplication,
  AdminNewResource,
  AdminOverview,
  AdminResource,
  AdminResourcePatch,
  AdminSelf,
  AdminSetting,
  AdminSettings,
  AdminUninvite,
  AdminUser,
  AdminUserDetails,
  AdminUsers,
} from '#contract/admin/admin-bodies.js'
import type { ProfileFieldChanges } from '#contract/profile-fields.js'
import { client } from '../browser/client.js'
import { withoutEmpty } from './place.js'

const requests = createAdminRequests(client)
const adminRoot = adminPath.replace('/api/auth/', '')
const read = <Value>(path: string) => requests.read<Value>(`${adminRoot}/${path}`)
/** `version`: refused if it is another one by now. */
const change = <Value = undefined>(
  method: 'POST' | 'PATCH' | 'PUT' | 'DELETE',
  path: string,
  body: object = {},
  version?: string,
) => requests.change<Value>(method, `${adminRoot}/${path}`, body, version)
const applicationPath = (id: string) => `applications/${encodeURIComponent(id)}`
const resourcePath = (id: string) => `resources/${encodeURIComponent(id)}`
const userPath = (id: string) => `users/${encodeURIComponent(id)}`

/** Every call of the API of administrators. */
export const calls = {
  self: () => read<AdminSelf>('self'),
  overview: (days: { from: string; to: string } | undefined) =>
    read<AdminOverview>(days ? `overview?${new URLSearchParams(days)}` : 'overview'),
  users: (query: Partial<Record<'search' | 'group' | 'state' | 'factor' | 'order' | 'after', string>>) =>
    change<AdminUsers>('POST', 'users/search', withoutEmpty(query)),
  user: (id: string) => read<AdminUserDetails>(userPath(id)),
  changeUser: (id: string, action: UserAction, body: { reason?: string }) =>
    change('POST', `${userPath(id)}/${action}`, body),
  endToken: (id: string, ended: Static<typeof AdminEndToken>) => change('POST', `${userPath(id)}/end-token`, ended),
  changeGroups: (id: string, groups: Static<typeof AdminGroupsPatch>) =>
    change<AdminUser>('PATCH', `${userPath(id)}/groups`, groups),
  changeFields: (id: string, fields: ProfileFieldChanges) =>
    change<Static<typeof AdminFields>>('PATCH', `${userPath(id)}/fields`, { fields }),
  deleteUser: (id: string, confirmation: { username: string }) =>
    change('POST', `${userPath(id)}/delete`, confirmation),
  invitations: () => read<{ invitations: AdminInvitation[] }>('invitations'),
  invite: (invitation: Static<typeof AdminInvite>) => change<AdminInvitation>('POST', 'invitations', invitation),
  withdrawInvitation: (invitation: Static<typeof AdminUninvite>) => change('DELETE', 'invitations', invitation),
  groups: () => read<{ groups: AdminGroup[] }>('groups'),
  addGroup: (name: string) => change<AdminGroup>('POST', 'groups', { name }),
  deleteGroup: (group: Static<typeof AdminGroupDeletion>) => change('DELETE', 'groups', group),
  applications: () => read<AdminApplications>('applications'),
  changeApplication: (id: string, version: string, patch: AdminApplicationPatch) =>
    change<AdminApplication>('PATCH', applicationPath(id), patch, version),
  addApplication: (application: Static<typeof AdminNewApplication>) =>
    change<AdminAddedApplication>('POST', 'applications', application),
  linesOfApplication: (id: string) => read<AdminApplicationLines>(`${applicationPath(id)}/lines`),
  deleteApplication: (id: string, version: string, name: string) =>
    change('DELETE', applicationPath(id), { name }, version),
  endAccess: (id: string, reason: string) => change('POST', `${applicationPath(id)}/end-access`, { reason }),
  addSecret: (id: string, version: string) =>
    change<Static<typeof AdminAddedSecret>>('POST', `${applicationPath(id)}/secrets`, {}, version),
  removeSecret: (id: string, version: string, secret: string) =>
    change('DELETE', `${applicationPath(id)}/secrets/${encodeURIComponent(secret)}`, {}, version),
  resources: () => read<{ resources: AdminResource[] }>('resources'),
  addResource: (resource: Static<typeof AdminNewResource>) => change<AdminResource>('POST', 'resources', resource),
  changeResource: (id: string, version: string, patch: AdminResourcePatch) =>
    change<AdminResource>('PATCH', resourcePath(id), patch, version),
  deleteResource: (id: string, version: string, name: string) => change('DELETE', resourcePath(id), { name }, version),
  settings: () => read<AdminSettings>('settings'),
  changeSetting: (name: string, version: string, value: string | string[]) =>
    change<AdminSetting>('PUT', `settings/${name}`, { value }, version),
  resetSetting: (name: string, version: string) => change<AdminSetting>('DELETE', `settings/${name}`, {}, version),
  event: (id: string) => read<AdminEvent>(`events/${encodeURIComponent(id)}`),
  changeBack: (id: string, body: Static<typeof AdminChangeBack>) =>
    change<Static<typeof AdminChangedBack>>('POST', `events/${encodeURIComponent(id)}/change-back`, body),
  events: (query: Static<typeof AdminEventQuery>) => change<AdminEvents>('POST', 'events/search', withoutEmpty(query)),
}
