/**
 * What a backup does with a table. `without`: columns that are not in it, so that a restored row has their default. `ends`: what its rows
 * are for people; they end if a snapshot is restored that is old. Rows that go with others have no name of their own, and are not counted.
 */
type BackedUpTable = { without?: readonly string[]; ends?: string | null }
type LeftOutTable = { leftOut: string }

/**
 * Every table of the schema, in the order of the foreign keys. A test compares the list with the migrations: each table is decided.
 *
 * Columns with numbers of transactions (`xid8`) are never in a backup: in another cluster they mean other transactions.
 */
export const backupTables: Readonly<Record<string, BackedUpTable | LeftOutTable>> = {
  application_changes: { leftOut: 'every instance reads the applications again when it starts' },
  schema_migrations: { leftOut: 'the header has it' },
  content: {},
  stored_settings: {},
  configuration_files: { leftOut: 'the next start applies the file again' },
  groups: {},
  users: {},
  reserved_usernames: {},
  former_emails: {},
  email_changes: { ends: 'waiting code or link' },
  identities: {},
  undone_identities: {},
  sessions: { ends: 'session' },
  ended_sessions: { leftOut: 'a restore refuses all access tokens from before, so no list is needed' },
  sign_in_challenges: { ends: 'unfinished sign-in' },
  totp_secrets: {},
  pending_totp_secrets: { ends: null },
  recovery_codes: {},
  trusted_devices: { ends: 'trusted device' },
  // The wait after wrong codes belongs to the account: a restore gives nobody new guesses.
  wrong_codes: {},
  passkeys: {},
  pending_registrations: { ends: 'unfinished registration' },
  invitations: { ends: 'invitation' },
  one_time_tokens: { ends: 'waiting code or link' },
  mailed_codes: { ends: 'waiting code or link' },
  mail_sign_ins: { ends: 'unfinished sign-in' },
  // An address stays reserved for its user, so the rows stay, and only their links end (`endUndoLinks`).
  undos: {},
  agreed_terms: {},
  // Mails that were sent count for the limits. One that waited may have been sent since, so it is given up: without these two columns it is.
  outgoing_mail: { without: ['content', 'next_attempt_at'] },
  webhooks_wanted: { leftOut: 'a lease, which a running service renews' },
  outgoing_webhooks: { leftOut: 'they may have been delivered since, and would tell receivers of the past' },
  // What commands did is in the log of the service, or was never to be.
  events: { without: ['log_pending'] },
  signing_keys: {},
  applications: {},
  application_secrets: {},
  application_errors: {},
  application_icons: {},
  application_keys: {},
  consents: {},
  personal_tokens: { ends: 'personal token' },
  authorization_requests: { ends: null },
  device_requests: { ends: null },
  application_sessions: { ends: 'use of an application' },
  authorization_codes: { ends: null },
  application_tokens: { ends: null },
  application_access_tokens: { ends: null },
  host_codes: { ends: null },
  host_sessions: { ends: null },
  logout_notices: { leftOut: 'the applications may have been told since' },
  counters: { leftOut: 'their windows are over, or are counted anew' },
  setup_tokens: { leftOut: 'a database with users has none' },
  administrators_group: {},
  logout_pauses: { leftOut: 'it belongs to the notices' },
}

export const isInBackup = (table: string) => {
  const decision = backupTables[table]
  return decision !== undefined && !('leftOut' in decision)
}

export const columnsLeftOut = (table: string): readonly string[] => {
  const decision = backupTables[table]
  return decision && 'without' in decision ? (decision.without ?? []) : []
}

/** The tables whose rows end with the restore of an old snapshot, with the name of what ends. */
export const endingTables = new Map(
  Object.entries(backupTables).flatMap(([table, decision]) =>
    'ends' in decision && decision.ends !== undefined ? [[table, decision.ends] as const] : [],
  ),
)
