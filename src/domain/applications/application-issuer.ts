/** The issuer of ID tokens and logout tokens. It is never that of access tokens, so that neither passes for the other. */
export const applicationIssuer = (publicUrl: string) => `${publicUrl}/api/auth`
