import type { AdminGroup, AdminInvitation } from '../contract/admin/admin-bodies.js'
import type { Administrators } from '../domain/administrators/administrators.js'
import type { Group } from '../domain/groups/groups.js'
import type { Invitation } from '../domain/invitations/invitations.js'

/** An invitation as administrators and other programs see it. */
export const invitationBody = ({ email, groups, createdAt, expiresAt }: Invitation): AdminInvitation => ({
  email,
  groups: [...groups],
  createdAt: createdAt.toISOString(),
  expiresAt: expiresAt.toISOString(),
})

export const groupBody = (
  { name, createdAt, members }: Group,
  { roleOf }: Pick<Administrators, 'roleOf'>,
): AdminGroup => ({ name, createdAt: createdAt.toISOString(), members, role: roleOf(name) ?? null })
