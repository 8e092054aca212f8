/** The issuer of ID tokens and logout tokens. Access tokens have another issuer, so that neither kind passes for the other. */
export const applicationIssuer = (publicUrl: string) => `${publicUrl}/api/auth`
