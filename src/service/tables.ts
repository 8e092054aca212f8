/**
 * The tables that the role of the service may write. They are listed by name, because other programs may have tables in the same schema. A
 * test compares the lists with the migrations.
 */
export const writableTables: readonly string[] = [
  'users',
  'identities',
  'groups',
  'sessions',
  'ended_sessions',
  'pending_registrations',
  'invitations',
  'one_time_tokens',
  'mailed_codes',
  'mail_sign_ins',
  'outgoing_mail',
  'events',
  'signing_keys',
  'outgoing_webhooks',
  'webhooks_wanted',
  'totp_secrets',
  'pending_totp_secrets',
  'recovery_codes',
  'sign_in_challenges',
  'trusted_devices',
  'wrong_codes',
  'passkeys',
  'reserved_usernames',
  'email_changes',
  'undos',
  'undone_identities',
  'former_emails',
  'agreed_terms',
  'applications',
  'application_secrets',
  'application_errors',
  'application_icons',
  'application_keys',
  'authorization_requests',
  'device_requests',
  'consents',
  'application_sessions',
  'authorization_codes',
  'application_tokens',
  'application_access_tokens',
  'host_codes',
  'host_sessions',
  'logout_notices',
  'logout_pauses',
  'counters',
  'setup_tokens',
  'administrators_group',
  'personal_tokens',
  'stored_settings',
  'configuration_files',
]
export const readableTables: readonly string[] = ['content', 'schema_migrations', 'application_changes']
/** They have no rows of their own, so they are in no backup. */
export const readableViews: readonly string[] = ['second_factors']

/** Rows of these tables stay as they were written, and only these columns may be changed. A trigger decides which rows may be deleted. */
const changeableColumns: Readonly<Record<string, readonly string[]>> = { events: ['name_mark', 'log_pending'] }

/**
 * With these functions the service may make the months of `events`, and drop old ones: it cannot create or drop any other table. The
 * functions of the counters have no rights of their own.
 */
const callableFunctions: readonly string[] = [
  'make_event_months(integer)',
  'drop_event_months(uuid)',
  'event_months()',
  'first_event_id(timestamp)',
  'lock_counters(text[])',
  'counters_now(bigint)',
  'count_attempts(text[], bigint[], bigint[], boolean, bigint)',
  'refund_attempts(text[], bigint[])',
  'carry_counters(text[], bigint[], bigint[], bigint[], bigint[], text[], boolean, bigint)',
  'forget_counters(text[], bigint)',
]

/** The grants of a migration, for the role of the running service. */
export const grantsFor = (role: string) => ({
  role,
  writable: writableTables,
  readable: [...readableTables, ...readableViews],
  changeableColumns,
  callable: callableFunctions,
})
