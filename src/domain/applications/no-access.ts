const refusal = ': no_access, the user is in none of its groups'

/** The reason of the event `application_refused`. */
export const noAccessReason = (applicationName: string) => `${applicationName}${refusal}`

/** The name of the application; undefined if the event has another reason. */
export const applicationWithoutAccess = (reason: string | null) =>
  reason?.endsWith(refusal) ? reason.slice(0, -refusal.length) : undefined
