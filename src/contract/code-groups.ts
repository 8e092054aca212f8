const groupLength = 4

/** A code as users read it: `U68K-3AC5`. Mails and pages show every code of letters and digits in this form. */
export const inGroups = (code: string) => (code.match(new RegExp(`.{1,${groupLength}}`, 'g')) ?? []).join('-')

/** A code as a user typed or pasted it: small letters, spaces and dashes make no difference. */
export const withoutGroups = (typed: string) => typed.toUpperCase().replaceAll(/[^A-Z0-9]/g, '')
