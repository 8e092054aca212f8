-- The tables, in the order of the nouns in src/domain. What must hold whoever writes is in 0002-triggers.sql.
--
-- Hot tables leave room in their pages and index no column that a hot statement changes, so that an update stays inside its page
-- (HOT) and leaves no growth behind. A column `…_key` has a value as it is compared: `Ada@Example.org` and `ada@example.org`
-- have the same. A column `…hash` of a random value has its SHA-256.

-- ── Users

create table users (
  id uuid primary key,
  email text not null,
  email_key text not null constraint users_email_taken unique,
  username text not null,
  username_key text not null constraint users_username_taken unique,
  name text,
  -- Null: the user has no password.
  password_hash text,
  -- The provider that created the account; null for an account that was made with a password.
  provider text,
  -- The language of mails about the account. Null until the first sign-in of a user that an operator has added.
  language text,
  created_at timestamptz not null,
  -- No mail about a new device is sent for the first sign-in.
  first_signed_in_at timestamptz,
  disabled_at timestamptz,
  -- How often an undo link has taken the account back. A sign-in that began before gets no session.
  undo_count integer not null default 0
);

-- Former usernames: for some time only the former owner can have them again.
create table reserved_usernames (
  username_key text primary key,
  -- As the user wrote it: the key is not for display.
  username text not null,
  user_id uuid not null references users on delete cascade,
  -- The program deletes what has expired before it uses a name. A row that is here is in force.
  reserved_until timestamptz not null,
  -- Whether it is one of the few former names that a user may have. One that a thief has chosen is none.
  counts boolean not null default true
);
create index reserved_usernames_of_user on reserved_usernames (user_id);
create index reserved_usernames_expiry on reserved_usernames (reserved_until);

-- The addresses that an account had, for operators: an undo row is gone after seven days.
create table former_emails (
  user_id uuid not null references users on delete cascade,
  email text not null,
  replaced_at timestamptz not null
);
create index former_emails_of_user on former_emails (user_id, replaced_at);
create index former_emails_expiry on former_emails (replaced_at);

-- A new email address that waits for its confirmation, at most one for each user. One for an address that is taken is stored too,
-- so that both cases write the same rows.
create table email_changes (
  user_id uuid primary key references users on delete cascade,
  email text not null,
  email_key text not null,
  -- Of the token in the mail.
  hash bytea not null unique,
  asked_at timestamptz not null,
  expires_at timestamptz not null
);
create index email_changes_expiry on email_changes (expires_at);

-- ── Providers

-- The accounts at providers that sign a user in, at most one for each provider. The program knows which providers there
-- are: a new one needs no migration.
create table identities (
  user_id uuid not null references users on delete cascade,
  provider text not null,
  -- Who the user is at the provider: the `sub` claim of OpenID Connect, the account number at GitHub.
  subject text not null,
  linked_at timestamptz not null,
  primary key (user_id, provider),
  constraint identities_taken unique (provider, subject)
);

-- Identities that an undo link has removed from an account. They are not linked to it by an address again: only a session of the
-- user can do that.
create table undone_identities (
  user_id uuid not null references users on delete cascade,
  provider text not null,
  subject text not null,
  undone_at timestamptz not null,
  primary key (user_id, provider, subject)
);

-- ── Sessions

-- One row for each session; it always describes the newest refresh token of its chain.
create table refresh_token_records (
  id uuid primary key,
  user_id uuid not null references users on delete cascade,

  token_hash bytea not null,
  previous_hash bytea,
  -- The token that a change of the password replaced: it gets no successor, however fresh it is.
  voided_hash bytea,
  voided_at timestamptz,
  generation integer not null,
  -- Access tokens of an earlier generation change nothing that matters any more.
  oldest_generation integer not null default 0,
  -- The newest generation that was made by a renewal at the proxy: its parent has a longer grace time.
  renewed_generation integer,
  issued_at timestamptz not null,
  rotated_at timestamptz not null,
  expires_at timestamptz not null,

  -- How the user has proven who they are in this session (`amr` of access tokens), and when they last did.
  methods text[] not null,
  authenticated_at timestamptz not null,
  -- When the user last proved a second factor. Null if they have not, or if that factor was removed since.
  second_factor_at timestamptz,
  -- What the program that began the session was told by SECOND_FACTOR. The trigger cannot know it otherwise.
  second_factor_required boolean not null,
  -- The trusted device with which the session began without a code.
  trusted_device uuid,
  -- The provider at which the session began.
  provider text,
  -- The username at the sign-in: every refresh token of the session has this one.
  signed_in_as text not null,

  ip text not null,
  user_agent text not null,
  -- What the sessions of one browser have in common (part of its known_device cookie). Null if the browser withheld the cookie.
  browser text,
  created_at timestamptz not null,
  last_used_at timestamptz not null
) with (fillfactor = 70);
create index refresh_token_records_of_user on refresh_token_records (user_id);

-- Sessions that ended, so that their access tokens are refused before they expire. Tokens of the session with a generation below
-- `min_generation` are refused; null means all of them. Triggers write the entries.
create table ended_sessions (
  -- Who reads by it sees every entry once, also one that commits late: see `ended-sessions.store.ts`.
  xact xid8 not null default pg_current_xact_id(),
  sid uuid not null,
  min_generation integer,
  -- The event that ended it. Null if plain SQL did, and if the session goes on with newer tokens.
  reason text,
  ended_at timestamptz not null default now(),
  primary key (xact, sid)
);
create index ended_sessions_age on ended_sessions (ended_at);

-- ── Sign-in

-- A sign-in whose first proof was right and which needs a second factor. The browser has the secret in a cookie.
create table sign_in_challenges (
  hash bytea primary key,
  -- What codes and secrets of this sign-in are bound to. It is no secret.
  id uuid not null default gen_random_uuid(),
  user_id uuid not null references users on delete cascade,
  -- An enrolment goes on when its user has added a second factor (SECOND_FACTOR=required).
  kind text not null check (kind in ('second_factor', 'enrolment')),
  -- The first proof: see `ways-to-sign-in.ts`.
  way text not null,
  provider text,
  -- The user's id at the provider, if the identity is linked to the account together with the session.
  subject text,
  -- When the code was entered that was mailed for this enrolment. No factor can be added before that.
  mail_proven_at timestamptz,
  tries_left integer not null default 5,
  -- Who gave the first proof, for the mail about a sign-in that was not finished.
  ip text not null,
  user_agent text not null,
  begun_at timestamptz not null,
  expires_at timestamptz not null
);
create index sign_in_challenges_of_user on sign_in_challenges (user_id);
create index sign_in_challenges_expiry on sign_in_challenges (expires_at);

-- ── Second factors

-- The codes of an authenticator app (TOTP). The secret is sealed.
create table totp_secrets (
  user_id uuid primary key references users on delete cascade,
  secret text not null,
  created_at timestamptz not null,
  -- The newest 30-second step whose code was accepted. A code of this step or an earlier one is refused.
  last_step bigint not null
);

-- A secret that was shown and not confirmed yet. It belongs to the session, or to the enrolment, that asked for it; the newest
-- one counts.
create table pending_totp_secrets (
  user_id uuid primary key references users on delete cascade,
  session_id uuid not null,
  secret text not null,
  expires_at timestamptz not null
);
create index pending_totp_secrets_expiry on pending_totp_secrets (expires_at);

-- Using a code deletes its row.
create table recovery_codes (
  user_id uuid not null references users on delete cascade,
  hash bytea not null,
  created_at timestamptz not null,
  primary key (user_id, hash)
);

-- Browsers that need no code for this account. The browser has the random value.
create table trusted_devices (
  id uuid primary key,
  user_id uuid not null references users on delete cascade,
  hash bytea not null unique,
  ip text not null,
  user_agent text not null,
  created_at timestamptz not null,
  expires_at timestamptz not null
);
create index trusted_devices_of_user on trusted_devices (user_id);
create index trusted_devices_expiry on trusted_devices (expires_at);

-- Wrong codes of an account. Every code counts as wrong before it is compared, and is given back if it was right.
create table wrong_codes (
  user_id uuid primary key references users on delete cascade,
  failures integer not null,
  window_began timestamptz not null,
  last_wrong_at timestamptz not null,
  waits_until timestamptz,
  -- For the mail to the owner.
  wrong_in_day integer not null default 0,
  day_began timestamptz not null
);
create index wrong_codes_age on wrong_codes (last_wrong_at);

-- ── Passkeys

create table passkeys (
  id uuid primary key,
  user_id uuid not null references users on delete cascade,
  credential_id bytea not null unique,
  public_key bytea not null,
  -- How often the authenticator has signed. It stays 0 in those that do not count.
  counter bigint not null,
  transports text[] not null,
  -- The host of PUBLIC_URL when the passkey was made. It works for no other host.
  relying_party text not null,
  name text not null,
  synced boolean not null,
  created_at timestamptz not null,
  last_used_at timestamptz
);
create index passkeys_of_user on passkeys (user_id);

-- ── Registrations

-- A registration that waits for the proof of its address. No account exists before that. One for an address that has an account
-- is stored too, so that the two cannot be told apart. A confirmed one stays until it expires: its link is known.
create table pending_registrations (
  id uuid primary key,
  email text not null,
  email_key text not null,
  username text not null,
  username_key text not null,
  name text,
  password_hash text not null,
  -- The language of the browser that registered. The account gets it.
  language text,
  token_hash bytea not null constraint pending_registrations_token unique,
  older_token_hashes bytea[] not null default '{}',
  browser_hashes bytea[] not null,
  -- Of the invitation with which it was begun: another one of its address does not let it be confirmed. Null without one.
  invitation_hash bytea,
  -- Whether its mail was sent. Above a ceiling none is.
  mailed boolean not null default true,
  code_tries_left integer not null,
  password_tries_left integer not null,
  expires_at timestamptz not null,
  confirmed_at timestamptz
);
create index pending_registrations_expiry on pending_registrations (expires_at);
create index pending_registrations_email on pending_registrations (email_key, id);
create index pending_registrations_username on pending_registrations (username_key, id);
create index pending_registrations_older_tokens on pending_registrations using gin (older_token_hashes);
create index pending_registrations_browsers on pending_registrations using gin (browser_hashes);

-- Addresses that may register although registration is not open to them. The link has the random value.
create table invitations (
  email_key text primary key,
  email text not null,
  token_hash bytea not null unique,
  created_at timestamptz not null,
  expires_at timestamptz not null
);
create index invitations_expiry on invitations (expires_at);

-- ── One-time values

-- Values that work once: password resets, and the marks of provider attempts and passkey challenges that were used.
create table one_time_tokens (
  hash bytea primary key,
  purpose text not null check (purpose in ('reset_password', 'restore_account', 'provider_attempt', 'passkey_challenge')),
  user_id uuid references users on delete cascade,
  expires_at timestamptz not null
);
create index one_time_tokens_expiry on one_time_tokens (expires_at);
create index one_time_tokens_of_user on one_time_tokens (user_id);

-- Codes that are mailed to the owner of an account, as a proof. The code is computed from the id with a key of ours, and is not
-- stored.
create table mailed_codes (
  -- What the code is bound to, such as a session. A new code replaces the one before it.
  holder text primary key,
  id uuid not null unique,
  user_id uuid not null references users on delete cascade,
  tries_left integer not null,
  expires_at timestamptz not null
);
create index mailed_codes_of_user on mailed_codes (user_id);
create index mailed_codes_expiry on mailed_codes (expires_at);

-- What the undo links in mails take back. As long as a row is there, its address is reserved for its user.
create table undos (
  -- Of the token in the mail.
  hash bytea primary key,
  user_id uuid not null references users on delete cascade,
  kind text not null check (kind in ('totp', 'passkey', 'provider', 'email', 'username', 'language', 'password')),
  -- What was added: the id of the passkey, or the provider and the user's id there. What was replaced: the username, the language.
  subject text,
  -- The address to which the mail went. Its link puts this address back.
  email text not null,
  email_key text not null,
  -- When the first row of this address was made. It tells which of several addresses the account had first; what was added to
  -- the account from this moment on is removed with a change of the email.
  since timestamptz not null,
  made_at timestamptz not null,
  expires_at timestamptz not null
);
create index undos_of_user on undos (user_id);
create index undos_of_email on undos (email_key);
create index undos_expiry on undos (expires_at);

-- ── Mail

-- Mail waits here until the mail server has taken it. The content is sealed: it carries links that sign people in.
create table outgoing_mail (
  id uuid primary key,
  -- What limits count by: it is the same for `ada@…` and `ada+news@…`, which may be two users.
  recipient_key text not null,
  -- The exact address. Null in the last mail of a deleted account, and where the address was forgotten with an account.
  recipient text,
  -- The user whom the mail is about, or who caused it. Null for an address without an account. No foreign key: a deletion keeps
  -- the row, see `forget_mails_of_user`.
  user_id uuid,
  kind text not null,
  content text,
  created_at timestamptz not null,
  attempts integer not null default 0,
  -- Why the last attempt to send it failed, without the address.
  last_error text,
  next_attempt_at timestamptz,
  sent_at timestamptz
);
create index outgoing_mail_due on outgoing_mail (next_attempt_at) where next_attempt_at is not null;
create index outgoing_mail_of_recipient on outgoing_mail (recipient_key, kind, created_at);
create index outgoing_mail_of_address on outgoing_mail (recipient) where recipient is not null;
create index outgoing_mail_of_user on outgoing_mail (user_id) where user_id is not null;

-- ── Webhooks

-- A program with WEBHOOK_URL moves `until` on while it runs; no webhook is written after it.
create table webhooks_wanted (
  one_row boolean primary key default true check (one_row),
  until timestamptz not null,
  -- Since when nothing is sent, because the receiver answered 410. A start and `webhooks retry` set it to null.
  stopped_at timestamptz
);

-- Webhooks wait here until the receiver has taken them. They are written in the transaction of the change that they are about, by
-- triggers or by the program. A delivered one is deleted.
create table outgoing_webhooks (
  id uuid primary key default gen_random_uuid(),
  type text not null,
  -- No foreign key: `user.deleted` outlives its user.
  user_id uuid not null,
  data jsonb not null,
  created_at timestamptz not null default now(),
  attempts integer not null default 0,
  -- Null: given up.
  next_attempt_at timestamptz default now(),
  failure text,
  xact xid8 not null default pg_current_xact_id()
);
create index outgoing_webhooks_due on outgoing_webhooks (next_attempt_at) where next_attempt_at is not null;
create index outgoing_webhooks_age on outgoing_webhooks (created_at);
create index outgoing_webhooks_of_user on outgoing_webhooks (user_id);
-- One transaction may write several rows about one user (the account and its identities): they become one webhook.
create unique index outgoing_webhooks_merged on outgoing_webhooks (user_id, xact)
  where type in ('user.created', 'user.updated');

-- ── Events

create table events (
  id uuid primary key,
  kind text not null,
  user_id uuid references users on delete cascade,
  username text,
  -- A short keyed hash of a name that belongs to no account: people type passwords there.
  name_mark text,
  session_id uuid,
  reason text,
  request_id uuid,
  ip text not null,
  user_agent text not null,
  created_at timestamptz not null,
  -- What an operator did with a command: a running service writes it into its log, once.
  log_pending boolean not null default false
);
create index events_of_user on events (user_id, id desc);
create index events_of_name on events (name_mark, id desc) where name_mark is not null;
create index events_of_limiters on events (ip, id desc) where kind = 'rate_limited';
create index events_log_pending on events (id) where log_pending;

-- ── Signing keys

-- Key pairs that sign access tokens (ES256).
create table signing_keys (
  -- The `kid` of its tokens.
  id text primary key,
  -- Sealed. The public key is computed from it, so that a key which was put here without SEALING_KEY is worth nothing.
  private_key text not null,
  created_at timestamptz not null,
  -- By the clock of the database. The newest key whose time has come signs.
  signs_from timestamptz not null
);

-- ── Content

create table content (
  slug text primary key,
  title text not null,
  body text not null,
  updated_at timestamptz not null
);
