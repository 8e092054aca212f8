/**
 * The hash that a row keeps in the place of a name or an address that must be forgotten but is still compared for a while. This is the
 * SQL for the text in `parameter`. Triggers of the migrations write the same hash (`forget_mails_of_user`, `forget_registrations`).
 */
export const forgottenKey = (parameter: string) =>
  `'sha256 ' || encode(sha256(convert_to(${parameter}, 'UTF8')), 'hex')`
