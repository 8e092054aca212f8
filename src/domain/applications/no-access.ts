const refusal = ': no_access, the user is in none of its groups'

/** The reason of the event `application_refused` if the user has no access. */
export const noAccessReason = (applicationName: string) => `${applicationName}${refusal}`

/** The name of the application that such a reason is about. Undefined for another reason. */
export const applicationWithoutAccess = (reason: string | null) =>
  reason?.endsWith(refusal) ? reason.slice(0, -refusal.length) : undefined
