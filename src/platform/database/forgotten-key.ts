/**
 * The key that a row keeps of a name or an address that must be forgotten, if it is still compared for a while: in SQL, for the text in
 * this parameter. The triggers of the migrations write it (`forget_mails_of_user`, `forget_registrations`).
 */
export const forgottenKey = (parameter: string) =>
  `'sha256 ' || encode(sha256(convert_to(${parameter}, 'UTF8')), 'hex')`
