const reasonEnd = ': no_access, the user is in none of its groups'

/** The reason of the event `application_refused` if the user has no access. */
export const noAccessReason = (applicationName: string) => `${applicationName}${reasonEnd}`

/** The name of the application that such a reason is about. Undefined for another reason. */
export const applicationWithoutAccess = (reason: string | null) =>
  reason?.endsWith(reasonEnd) ? reason.slice(0, -reasonEnd.length) : undefined
