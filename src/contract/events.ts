/** What happens to an account and is shown to its user: pages have words for each kind. */
export const accountEventKinds = [
  'registered',
  'invitation_used',
  'signed_in',
  'sign_in_failed',
  'rate_limited',
  'signed_out',
  'signed_out_everywhere',
  'session_ended',
  'refresh_theft',
  'reset_requested',
  'password_reset',
  'password_changed',
  'password_change_failed',
  'stepped_up',
  'step_up_failed',
  'name_changed',
  'language_changed',
  'username_changed',
  'provider_linked',
  'provider_unlinked',
  'second_factor_asked',
  'second_factor_failed',
  'totp_added',
  'totp_removed',
  'recovery_code_used',
  'recovery_codes_renewed',
  'trusted_device_removed',
  'passkey_added',
  'passkey_renamed',
  'passkey_removed',
  'email_change_asked',
  'email_changed',
  'email_change_failed',
  'email_change_cancelled',
  'email_change_undone',
  'factor_undone',
  'user_added',
  'user_disabled',
  'user_enabled',
  'sessions_ended',
  'factors_reset',
  'password_expired',
  'limits_cleared',
  'email_set',
  'account_recovered',
] as const
export type AccountEventKind = (typeof accountEventKinds)[number]

/** What became of a mail; the reason begins with its template. */
export const mailEventKinds = ['mail_accepted', 'mail_refused', 'mail_given_up'] as const

/** What only operators see: of mails, of accounts that are gone, of other programs, of commands. */
const operatorEventKinds = [
  ...mailEventKinds,
  'account_deleted',
  'service_key_refused',
  'user_invited',
  'invitation_revoked',
  'user_deleted',
  'webhooks_retried',
  'users_imported',
  'users_exported',
  'content_loaded',
  'service_key_added',
  'signing_key_made',
  'signing_keys_withdrawn',
] as const

export const eventKinds = [...accountEventKinds, ...operatorEventKinds] as const
export type EventKind = (typeof eventKinds)[number]
