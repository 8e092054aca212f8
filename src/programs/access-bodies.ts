import type { AdminGroup, AdminInvitation } from '../contract/admin/admin-bodies.js'
import type { Group } from '../groups/groups.js'
import type { Invitation } from '../registration/invitations.js'
import type { AdminRoles } from '../sessions/administrators.js'

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

/** A group as administrators and other programs see it. */
export const groupBody = ({ name, createdAt, members, setByFile }: Group, { roleOf }: AdminRoles): AdminGroup => ({
  name,
  createdAt: createdAt.toISOString(),
  members,
  role: roleOf(name) ?? null,
  setBy: setByFile === undefined ? null : { file: setByFile },
})
