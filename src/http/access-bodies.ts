import type { AdminGroup, AdminInvitation } from '../contract/admin/admin-bodies.js'
import type { AdminRoles } from '../domain/administrators/administrators.js'
import type { Group } from '../domain/groups/groups.js'
import type { Invitation } from '../domain/invitations/invitations.js'

/** An invitation as administrators and other programs see it. */
export const invitationBody = (invitation: Invitation): AdminInvitation => ({
  email: invitation.email,
  groups: [...invitation.groups],
  madeBy: invitation.madeBy,
  invitedBy: invitation.invitedBy,
  returnTo: invitation.returnTo,
  createdAt: invitation.createdAt.toISOString(),
  expiresAt: invitation.expiresAt.toISOString(),
})

export const groupBody = ({ name, createdAt, members }: Group, { roleOf }: Pick<AdminRoles, 'roleOf'>): AdminGroup => ({
  name,
  createdAt: createdAt.toISOString(),
  members,
  role: roleOf(name) ?? null,
})
