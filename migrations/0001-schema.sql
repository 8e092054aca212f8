-- The tables, in the order of the rooms. What must hold whoever writes is in 0002-triggers.sql, the parts of `events` are in
-- 0003-event-months.sql.
--
-- Hot tables leave room in their pages and index no column that a hot statement changes, so that an update stays inside its page
-- (HOT) and leaves no growth behind. A column `…_key` has a value as it is compared: `Ada@Example.org` and `ada@example.org`
-- have the same. A column `…hash` of a random value has its SHA-256.

-- ── Keys

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

-- The keys of ID tokens and logout notices. They are kept apart from `signing_keys`: what an application can check with one of
-- these must never pass for an access token.
create table application_keys (
  -- The `kid` of its tokens.
  id text primary key,
  algorithm text not null check (algorithm in ('RS256', 'ES256')),
  -- Sealed. Null once the key is retired: then its public key is kept for tokens that come back as an `id_token_hint`.
  private_key text,
  public_key text not null,
  created_at timestamptz not null,
  -- By the clock of the database. The newest key of an algorithm whose time has come signs.
  signs_from timestamptz not null
);

-- ── Users

create table users (
  id uuid primary key,
  email text not null,
  email_key text not null constraint users_email_taken unique,
  -- Whether the address was proven by our mail or a provider's word.
  email_proven boolean not null default false,
  -- The address was only typed, at the setup or with a printed invitation: it opens nothing until something proves it.
  email_claimed boolean not null default false,
  username text not null,
  username_key text not null constraint users_username_taken unique,
  name text,
  -- What an operator asks users for (PROFILE_FIELDS_FILE), by key. One column: it goes with the row into every export and is deleted
  -- with it. A field that has left the file stays here until `latchkey fields purge`.
  fields jsonb not null default '{}',
  -- A sign-in that waits for the row sees the groups as they are then. Each session has a copy, see `copy_groups_to_session`.
  groups text[] not null default '{}',
  -- Null: the user has no password.
  password_hash text,
  -- The password is from before the lock-down, so a thief may know it: it ends when the account is enabled.
  password_distrusted boolean not null default false,
  -- The provider that created the account; null for an account that was made with a password.
  provider text,
  -- The language of mails about the account. Null until the first sign-in of a user that an operator has added.
  language text,
  created_at timestamptz not null,
  -- No mail about a new device is sent for the first sign-in.
  first_signed_in_at timestamptz,
  -- Until then the account can add its first second factor without a mailed code.
  first_factor_until timestamptz,
  disabled_at timestamptz,
  -- Since when the account is locked down. It is also disabled; one that is enabled is not locked down, whatever stands here.
  locked_down_at timestamptz,
  -- How often an undo link has taken the account back. A sign-in that began before gets no session.
  undo_count integer not null default 0
);
create index users_in_groups on users using gin (groups) where groups <> '{}';
-- How an administrator finds a user. Each finds how a name begins, and gives the names in order. Bytes are compared, whatever the
-- language of the database.
create index users_by_username on users (username_key collate "C");
create index users_by_email on users (email_key collate "C");
create index users_by_name on users (lower(name) collate "C") where name is not null;
create index users_by_last_name on users (lower(substring(name from '\S+$')) collate "C") where name is not null;
-- Disabled users are few among very many.
create index users_disabled on users (username_key collate "C") where disabled_at is not null;
-- Lists of users are in the order of the alphabet. The keys of usernames are not: they have one sign for i, l and 1.
create index users_in_order on users (lower(username) collate "C");
create index users_by_creation on users (created_at, id);
create index users_disabled_in_order on users (lower(username) collate "C") where disabled_at is not null;

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

-- Each version of the terms that a user has agreed to (TERMS_VERSION). Two instances with different versions do not ask in turns.
create table agreed_terms (
  user_id uuid not null references users on delete cascade,
  version text not null,
  agreed_at timestamptz not null,
  primary key (user_id, version)
);

-- ── Sessions

-- One row for each session; it always describes the newest refresh token of its chain.
create table sessions (
  id uuid primary key,
  user_id uuid not null references users on delete cascade,

  token_hash bytea not null,
  previous_hash bytea,
  -- Tokens before `previous_hash` that get the same successor for as long: a change of the groups made it necessary to replace the
  -- newest token at once, while other requests were still using an older one.
  earlier_hashes bytea[],
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
  -- When that proof was stored, by the clock of the database: a request of an application may ask for a proof after it, at another
  -- instance. Null: the proof does not count any more.
  proof_moment timestamptz,
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
  -- The groups of the user. They are set together with `oldest_generation`, so a rotation returns those of its tokens.
  groups text[] not null default '{}',
  -- When the session was first used as an administrator. Null: it was not.
  administers_since timestamptz,
  -- The application whose device or program has this session. Nobody has tokens of such a session but the application its own. No
  -- foreign key: `end_session_of_device` ends the session.
  application_id text,
  -- The public key of the device that the session is bound to (the 65 bytes of a P-256 point). Only a proof by this key gives tokens.
  bound_key bytea,
  bound_at timestamptz,

  ip text not null,
  user_agent text not null,
  -- What the sessions of one browser have in common (part of its known_device cookie). Null if the browser withheld the cookie.
  browser text,
  created_at timestamptz not null,
  last_used_at timestamptz not null
) with (fillfactor = 70);
create index sessions_of_user on sessions (user_id);

-- Sessions that ended, so that their access tokens are refused before they expire. Tokens of the session with a generation below
-- `min_generation` are refused; null means all of them. Triggers write the entries.
create table ended_sessions (
  -- Who reads by it sees every entry once, also one that commits late.
  xact xid8 not null default pg_current_xact_id(),
  -- The session. With `refused_before` the user.
  sid uuid not null,
  min_generation integer,
  -- After the restore of a dump, browsers have sessions that the database does not know. So an entry can be about a user: access tokens
  -- of the user that were issued before this whole second are refused, whatever session they are of.
  refused_before timestamptz,
  -- The event that ended it. Null if plain SQL did, and if the session goes on with newer tokens.
  reason text,
  ended_at timestamptz not null default now(),
  primary key (xact, sid)
);
create index ended_sessions_age on ended_sessions (ended_at);
-- Every new token of a session asks for the entries of its user, and there are few.
create index ended_users on ended_sessions (sid) where refused_before is not null;

-- ── Messages: mails, webhooks, events, mailed links and codes

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

-- In parts by the time with which an id begins, so that the primary key is the id alone.
create table events (
  id uuid primary key,
  kind text not null,
  user_id uuid references users on delete cascade,
  username text,
  -- A short keyed hash of a name that belongs to no account: people type passwords there.
  name_mark text,
  session_id uuid,
  reason text,
  -- The administrator who caused it, with the username of that time: after a new one it would look as if somebody else had done it.
  actor_id uuid references users on delete set null,
  actor_name text,
  -- What the administrator wrote as the reason. Only administrators see it.
  actor_reason text check (char_length(actor_reason) <= 200),
  -- The name of the service key with which another program caused it. The address is that of the program.
  actor_key text,
  request_id uuid,
  ip text not null,
  user_agent text not null,
  created_at timestamptz not null,
  -- Of a change of what operators set: what it was about, before and after. It has no secret.
  details jsonb,
  -- What an operator did with a command: a running service writes it into its log, once.
  log_pending boolean not null default false
) partition by range (id);
create index events_of_user on events (user_id, id desc);
create index events_of_name on events (name_mark, id desc) where name_mark is not null;
create index events_of_limiters on events (ip, id desc) where kind = 'rate_limited';
create index events_of_actor on events (actor_id, id desc) where actor_id is not null;
create index events_log_pending on events (id) where log_pending;

-- Values that work once: links to a new password (a printed one was made for an operator), and the marks of provider attempts and
-- passkey challenges that were used.
create table one_time_tokens (
  hash bytea primary key,
  purpose text not null check (purpose in ('reset_password', 'printed_reset', 'restore_account', 'provider_attempt', 'passkey_challenge')),
  user_id uuid references users on delete cascade,
  -- The application that has sent the user here. The mail may be opened in another browser, whose page then says where to go on. No
  -- foreign key: an application that was deleted since has no name any more, and nothing is missing.
  application_id text,
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

-- ── Groups

-- Who is in a group stands in the row of each user.
create table groups (
  name text primary key check (name ~ '^[a-z0-9][a-z0-9._-]{0,31}$'),
  created_at timestamptz not null,
  -- The name of the configuration file that owns it. Null: pages and commands may change it. The same in the tables below.
  set_by_file text
);

-- The group of administrators that the first start has made, if ADMIN_GROUP names none. It is here and not known by its name, because an
-- operator may have made a group of any name for an application. The group cannot be deleted: a later one would get its power by its name.
create table administrators_group (
  is_only boolean primary key default true check (is_only),
  name text not null references groups
);

-- ── Applications

-- Applications that sign their users in here (OpenID Connect). `id` is their `client_id`.
create table applications (
  id text primary key,
  name text not null,
  home text not null,
  -- `web` has a secret, `browser` and `native` have none. `document`: nobody registered it, and the row is a copy of its document
  -- (`client_documents`).
  kind text not null check (kind in ('web', 'browser', 'native', 'document')),
  -- The address of the document, which is its `client_id`.
  document text unique check ((kind = 'document') = (document is not null)),
  redirect_addresses text[] not null,
  logout_addresses text[] not null default '{}',
  backchannel_logout text,
  -- A word of its own: with `groups` an empty list lets no user in.
  access text not null check (access in ('everyone', 'groups')),
  groups text[] not null default '{}',
  factors integer not null default 1 check (factors in (1, 2)),
  -- In seconds. Null: a sign-in of any age will do.
  max_age integer check (max_age >= 0),
  consent text not null check (consent in ('none', 'ask')),
  pkce boolean not null,
  algorithm text not null check (algorithm in ('RS256', 'ES256')),
  -- Whether a native application may use the device flow (RFC 8628). Other kinds never may.
  device_flow boolean not null default true,
  -- Scheme, host and port of the site that a proxy protects by asking us. Null: no proxy does.
  proxy_origin text unique,
  -- What anybody may see there: paths, and beginnings of paths that end in a slash, each with a method before it unless that is GET.
  open_paths text[] not null default '{}',
  -- Whether a browser may ask what another site may do there (CORS), for which it never sends who the user is.
  open_preflight boolean not null default false,
  -- Whether programs may enter there with a personal token of a user.
  tokens boolean not null default true,
  created_at timestamptz not null,
  set_by_file text,
  -- Whether that file names its secrets too, so that nobody else changes them.
  secrets_by_file boolean not null default false
);
-- Users see the name when they are asked to continue to it, and operators type it. Small and large letters are the same, and so are all
-- forms in which Unicode writes a letter (`lib/text` has the same rule). A document takes no name from others.
create unique index applications_name on applications (lower(normalize(name, NFKC))) where kind <> 'document';

-- The picture with which users find an application: a PNG that was checked.
create table application_icons (
  application_id text primary key references applications on delete cascade,
  png bytea not null
);

-- One row. Every instance looks at the number, and reads the applications and the stored settings again when it is another one.
create table application_changes (
  number bigint not null
);
insert into application_changes values (0);
create unique index application_changes_one on application_changes ((true));

-- The settings that can change while the service runs, where no variable has them. `changed_by`: the administrator or the account.
create table stored_settings (
  name text primary key check (name in ('registration', 'registrationDomains', 'mailSignIn', 'secondFactor')),
  value jsonb not null,
  changed_by text not null,
  changed_at timestamptz not null,
  set_by_file text
);

-- What became of the file of CONFIGURATION_FILE, by its name, when an instance applied it last. `fault`: why it could not be applied.
create table configuration_files (
  name text primary key,
  fault text,
  tried_at timestamptz not null
);

-- One, or two while the old one is being replaced.
create table application_secrets (
  id uuid primary key,
  application_id text not null references applications on delete cascade,
  hash bytea not null,
  created_at timestamptz not null
);
create index application_secrets_of_application on application_secrets (application_id);

-- How long the copies of documents are good that programs say who they are with.
create table client_documents (
  application_id text primary key references applications on delete cascade,
  -- By the clock of the database. Fresh: not fetched again. Usable: kept while the document cannot be reached.
  fetched_at timestamptz not null,
  fresh_until timestamptz not null,
  usable_until timestamptz not null
);

-- APIs and servers that want tokens for themselves alone. The address is the audience.
create table resources (
  id text primary key,
  address text not null unique,
  name text not null,
  -- A list of objects with `name` and `description`, in the order in which users are asked.
  scopes jsonb not null default '[]',
  access text not null check (access in ('everyone', 'groups')),
  groups text[] not null default '{}',
  algorithm text not null check (algorithm in ('RS256', 'ES256')),
  created_at timestamptz not null,
  -- The configuration file that owns it.
  set_by_file text
);
create unique index resources_name on resources (lower(normalize(name, NFKC)));

-- What an application did wrong lately, in plain words for operators.
create table application_errors (
  application_id text not null references applications on delete cascade,
  -- What it is about. Of each kind so many are kept: errors that anybody can cause do not replace those that are looked for. Normal ends
  -- of a request (the user said no, or was not signed in) are a kind of their own, which is counted and is no error.
  kind text not null,
  message text not null,
  count integer not null default 1,
  seen_at timestamptz not null,
  primary key (application_id, message)
);

-- ── Account changes

-- A new email address that waits for its confirmation, at most one for each user. One for an address that is taken is stored too,
-- so that both cases write the same rows.
create table email_changes (
  user_id uuid primary key references users on delete cascade,
  email text not null,
  email_key text not null,
  -- Of the token in the mail. The mail also has a code, which is computed from this hash with a key of ours.
  hash bytea not null unique,
  -- The session that asked for the change: it alone can enter the code.
  session_id uuid not null,
  code_tries_left integer not null,
  asked_at timestamptz not null,
  expires_at timestamptz not null
);
create index email_changes_expiry on email_changes (expires_at);

-- What the undo links in mails take back. As long as a row is there, its address is reserved for its user.
create table undos (
  -- Of the token in the mail.
  hash bytea primary key,
  user_id uuid not null references users on delete cascade,
  kind text not null check (kind in ('totp', 'passkey', 'provider', 'email', 'username', 'language', 'password', 'token')),
  -- What was added: the id of the passkey or of the token, or the provider and the user's id there. What was replaced: the username, the language.
  subject text,
  -- With a replaced authenticator app: the secret from before, sealed under its id. It is forgotten when two-step sign-in is switched off:
  -- then the undo is that of an app that was added.
  former_secret_id uuid unique,
  former_secret text,
  -- The address to which the mail went. Its link puts this address back.
  email text not null,
  email_key text not null,
  -- When the first row of this address was made. It tells which of several addresses the account had first; what was added to
  -- the account from this moment on is removed with a change of the email.
  since timestamptz not null,
  made_at timestamptz not null,
  expires_at timestamptz not null,
  -- The link works no longer. The row says what is removed when the account is taken back, and reserves its address.
  is_void boolean not null default false,
  constraint former_secret_has_id check ((former_secret is null) = (former_secret_id is null))
);
create index undos_of_user on undos (user_id);
create index undos_of_email on undos (email_key);
create index undos_expiry on undos (expires_at);

-- ── Personal tokens

-- With these, programs of a user enter applications behind a proxy. An end is written to `ended_sessions`, under the id of the token.
create table personal_tokens (
  id uuid primary key,
  user_id uuid not null references users on delete cascade,
  name text not null,
  -- Of the whole text.
  hash bytea not null unique,
  -- The applications that it opens. One that was deleted opens nothing any more.
  applications text[] not null,
  -- Counts the changes of its user that every instance must learn of, as `oldest_generation` of a session does.
  generation integer not null default 0,
  created_at timestamptz not null,
  expires_at timestamptz not null,
  -- Noted once an hour.
  last_used_at timestamptz
);
create index personal_tokens_of_user on personal_tokens (user_id);
create index personal_tokens_expiry on personal_tokens (expires_at);

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
  id uuid primary key,
  user_id uuid not null references users on delete cascade,
  -- The hash of the code, sealed for this row: a code of 12 characters is too short for a plain hash, which can be tried out where no
  -- limit holds.
  sealed text not null,
  created_at timestamptz not null
);
create index recovery_codes_of_user on recovery_codes (user_id);

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

-- ── Registration

-- A registration that waits for the proof of its address. No account exists before that. One for an address that has an account
-- is stored too, so that the two cannot be told apart. A confirmed one stays until it expires: its link is known.
create table pending_registrations (
  id uuid primary key,
  email text not null,
  email_key text not null,
  username text not null,
  username_key text not null,
  name text,
  fields jsonb not null default '{}',
  -- The version of the terms that was agreed to on the form. The account gets it.
  terms_version text,
  password_hash text not null,
  -- The language of the browser that registered. The account gets it.
  language text,
  token_hash bytea not null constraint pending_registrations_token unique,
  older_token_hashes bytea[] not null default '{}',
  browser_hashes bytea[] not null,
  -- Of the invitation with which it was begun: another one of its address does not let it be confirmed. Null without one.
  invitation_hash bytea,
  -- The application that has sent the user here, as in `one_time_tokens`.
  application_id text,
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

-- Addresses that may register although registration is not open to them. An address can have an invitation of each maker.
create table invitations (
  email_key text not null,
  -- `command line`, `administrator`, or `service key NAME`.
  made_by text not null,
  email text not null,
  -- The mail and the operator have different links, because only the one in the mail proves the address. Null: the invitation was printed
  -- for the operator, and there is no mail.
  mailed_hash bytea unique,
  operator_hash bytea not null unique,
  -- The administrator, whose present name the invited person sees.
  administrator_id uuid references users on delete set null,
  -- The name that a program or a command has given.
  invited_by text,
  -- The account that is created with the invitation is in them.
  groups text[] not null default '{}',
  return_to text,
  created_at timestamptz not null,
  expires_at timestamptz not null,
  primary key (email_key, made_by)
);
create index invitations_of_administrator on invitations (administrator_id) where administrator_id is not null;
create index invitations_expiry on invitations (expires_at);

-- The links of the first start: while there is no user, whoever has one makes the first account, which is an administrator's. Several may
-- be valid at once.
create table setup_tokens (
  hash bytea primary key,
  expires_at timestamptz not null
);
create index setup_tokens_expire on setup_tokens (expires_at);

-- ── Providers

-- The accounts at providers that sign a user in, at most one for each provider. The program knows which providers there
-- are: a new one needs no migration.
create table identities (
  user_id uuid not null references users on delete cascade,
  provider text not null,
  -- Who the user is at the provider: the `sub` claim of OpenID Connect, the account number at GitHub.
  subject text not null,
  linked_at timestamptz not null,
  -- The address that the provider last gave for the account there, so that users see which of their accounts is connected.
  email text,
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

-- ── Sign-in

-- A sign-in whose first proof was right and which needs something more. The browser has the secret in a cookie.
create table sign_in_challenges (
  hash bytea primary key,
  -- What codes and secrets of this sign-in are bound to. It is no secret.
  id uuid not null default gen_random_uuid(),
  user_id uuid not null references users on delete cascade,
  -- An enrolment goes on when its user has added a second factor (SECOND_FACTOR=required). `profile` and `terms` wait for required fields
  -- and for the terms, after every proof.
  kind text not null check (kind in ('second_factor', 'enrolment', 'profile', 'terms')),
  -- The way of the first proof.
  way text not null,
  provider text,
  -- The user's id at the provider, if the identity is linked to the account together with the session.
  subject text,
  -- What its session carries, as far as it is known.
  facts jsonb not null,
  -- When the enrolment was opened: by the first proof, a mailed code or the password. No factor can be added before that.
  enrolment_opened_at timestamptz,
  tries_left integer not null default 5,
  -- Who gave the first proof, for the mail about a sign-in that was not finished.
  ip text not null,
  user_agent text not null,
  begun_at timestamptz not null,
  expires_at timestamptz not null
);
create index sign_in_challenges_of_user on sign_in_challenges (user_id);
create index sign_in_challenges_expiry on sign_in_challenges (expires_at);

-- Sign-ins by mail (MAIL_SIGN_IN), one for each browser that asked. The code is computed from the id with a key of ours, and is not
-- stored. A row without a user and without an email opens nothing: no mail was sent, or one that says so. It has tries all the same,
-- so that the answers are those of any other.
create table mail_sign_ins (
  -- Of the cookie of the browser that asked.
  browser_hash bytea primary key,
  -- Of the value of the browser and the address together: alone it says nothing about the address.
  address_hash bytea not null,
  id uuid not null unique,
  -- Of the link in the mail.
  token_hash bytea not null unique,
  user_id uuid references users on delete cascade,
  -- An address without an account that may register.
  email text,
  email_key text,
  tries_left integer not null,
  -- What the session carries that begins with this mail, as far as it is known.
  facts jsonb not null,
  -- The code or the link was used in the browser that asked, and the account is not made yet.
  proven_at timestamptz,
  expires_at timestamptz not null,
  -- A browser that asks again for the same address when no more mails are sent begins anew, as it would with a mail: it must not see the
  -- limit. The code from before keeps its own tries and its own end.
  code_tries_left integer not null,
  code_expires_at timestamptz not null,
  check (user_id is null or email is null)
);
create index mail_sign_ins_of_user on mail_sign_ins (user_id);
create index mail_sign_ins_of_email on mail_sign_ins (email_key) where email_key is not null;
create index mail_sign_ins_expiry on mail_sign_ins (expires_at);

-- ── OpenID Connect

-- An authorization request that waits for its user, bound to a browser by a cookie.
create table authorization_requests (
  hash bytea primary key,
  application_id text not null references applications on delete cascade,
  -- Of the cookie.
  browser_hash bytea not null,
  parameters jsonb not null,
  -- From the first proof or consent on.
  user_id uuid references users on delete cascade,
  created_at timestamptz not null,
  expires_at timestamptz not null,
  used_at timestamptz
);
create index authorization_requests_of_browser on authorization_requests (browser_hash);
create index authorization_requests_of_user on authorization_requests (user_id);
create index authorization_requests_of_application on authorization_requests (application_id);
create index authorization_requests_expiry on authorization_requests (expires_at);

-- What a user has agreed to.
create table consents (
  user_id uuid not null references users on delete cascade,
  application_id text not null references applications on delete cascade,
  scopes text[] not null,
  given_at timestamptz not null,
  primary key (user_id, application_id)
);
create index consents_of_application on consents (application_id);

-- An application that is used with a session. A row that is deleted, by whatever way, is told to the application: see
-- `queue_logout_notice`. No foreign key to sessions or users: their cascades would delete it in an order in which the triggers know too
-- little.
create table application_sessions (
  id uuid primary key,
  sid uuid not null,
  application_id text not null references applications on delete cascade,
  user_id uuid not null,
  scopes text[] not null,
  -- The only one for which the application gets tokens here. Then the session is its own, and the user has just agreed.
  resource_id text references resources on delete cascade,
  created_at timestamptz not null,
  last_used_at timestamptz not null,
  unique (sid, application_id)
) with (fillfactor = 80);
create index application_sessions_of_resource on application_sessions (resource_id) where resource_id is not null;
create index application_sessions_of_user on application_sessions (user_id);
create index application_sessions_of_application on application_sessions (application_id);

-- A used code is kept for a while: a second use is a sign of theft.
create table authorization_codes (
  hash bytea primary key,
  application_session_id uuid not null references application_sessions on delete cascade,
  redirect_address text not null,
  -- PKCE, S256. Null if the application sent none.
  challenge text,
  -- Whether it begins a session of its own. Then it belongs to the session of the browser until it is used, and to its own from then on.
  begins_session boolean not null default false,
  resource_id text references resources on delete cascade,
  -- What the ID token says, as it was when the code was made: nonce, auth_time, methods, scopes, requested claims.
  token_content jsonb not null,
  created_at timestamptz not null,
  expires_at timestamptz not null,
  used_at timestamptz
);
create index authorization_codes_of_session on authorization_codes (application_session_id);
create index authorization_codes_of_resource on authorization_codes (resource_id) where resource_id is not null;
create index authorization_codes_expiry on authorization_codes (expires_at);

-- The tokens that came from one code. Each refresh replaces the refresh token, as in sessions.
create table application_tokens (
  id uuid primary key,
  application_session_id uuid not null references application_sessions on delete cascade,
  -- Of the code that they came from, if it can still be used a second time.
  code_hash bytea unique,
  refresh_hash bytea not null,
  previous_hash bytea,
  generation integer not null default 0,
  token_content jsonb not null,
  issued_at timestamptz not null,
  rotated_at timestamptz not null,
  expires_at timestamptz not null
) with (fillfactor = 80);
create index application_tokens_of_session on application_tokens (application_session_id);
create index application_tokens_expiry on application_tokens (expires_at);

-- For UserInfo only.
create table application_access_tokens (
  hash bytea primary key,
  application_tokens_id uuid not null references application_tokens on delete cascade,
  -- Fewer than those of the code, if a refresh asked for fewer. Null: all of them.
  scopes text[],
  expires_at timestamptz not null
);
create index application_access_tokens_of_tokens on application_access_tokens (application_tokens_id);
create index application_access_tokens_expiry on application_access_tokens (expires_at);

-- A visitor of a host behind a proxy that gets none of our cookies, on the way from our host to that one. Each is used once.
create table host_codes (
  hash bytea primary key,
  application_session_id uuid not null references application_sessions on delete cascade,
  -- Scheme, host and port.
  origin text not null,
  -- PKCE, S256: of the verifier in a cookie of that host.
  challenge text not null,
  return_to text not null,
  expires_at timestamptz not null
);
create index host_codes_of_session on host_codes (application_session_id);
create index host_codes_expiry on host_codes (expires_at);

-- The cookie of such a host. It belongs to a session, and ends with it or alone.
create table host_sessions (
  id uuid primary key,
  -- Of the cookie.
  hash bytea not null unique,
  application_session_id uuid not null references application_sessions on delete cascade,
  sid uuid not null,
  origin text not null,
  created_at timestamptz not null,
  expires_at timestamptz not null
);
create index host_sessions_of_session on host_sessions (application_session_id);
create index host_sessions_expiry on host_sessions (expires_at);

-- A device without a browser that waits for its user.
create table device_requests (
  id uuid primary key,
  -- Of the code that only the device has.
  device_hash bytea not null unique,
  -- Of the short code that the user compares. It opens nothing without a session.
  user_hash bytea not null unique,
  application_id text not null references applications on delete cascade,
  scopes text[] not null,
  -- Where the request came from: the user is shown it.
  ip text not null,
  user_agent text not null,
  created_at timestamptz not null,
  expires_at timestamptz not null,
  -- In seconds, and when the device last asked. It grows each time the device asks too early.
  poll_interval integer not null,
  polled_at timestamptz,
  -- Who has answered, in which session.
  answer text check (answer in ('approved', 'denied')),
  user_id uuid references users on delete cascade,
  sid uuid,
  -- A used code is kept for a while: a second use is a sign of theft. `device_sid`: the session that it began.
  used_at timestamptz,
  device_sid uuid
);
create index device_requests_of_application on device_requests (application_id);
create index device_requests_of_user on device_requests (user_id);
create index device_requests_expiry on device_requests (expires_at);

-- Ended sessions that an application has still to be told of (back-channel logout).
create table logout_notices (
  id uuid primary key default gen_random_uuid(),
  application_id text not null references applications on delete cascade,
  sid uuid not null,
  -- No foreign key: a notice outlives its user.
  user_id uuid not null,
  created_at timestamptz not null default now(),
  attempts integer not null default 0,
  -- Null: given up.
  next_attempt_at timestamptz default now(),
  failure text
);
create index logout_notices_due on logout_notices (application_id, next_attempt_at) where next_attempt_at is not null;
create index logout_notices_age on logout_notices (created_at);
create index logout_notices_of_user on logout_notices (user_id);

-- An application that could not be told waits as a whole, at every instance. The row goes with the next success.
create table logout_pauses (
  application_id text primary key references applications on delete cascade,
  -- In a row.
  failures integer not null,
  paused_until timestamptz not null
);

-- ── Counters

-- The counters of the limits, where REDIS_URL does not name a Redis for them. It is an ordinary table: an unlogged one would be empty after
-- every crash, which would make a crash a way around every limit. What is counted is not worth a wait for the disk, so at most the last
-- second is lost.
create table counters (
  key text collate "C" primary key,
  used bigint not null,
  -- The end of the window, in milliseconds since 1970 by the clock of the database. It is also the id of the window.
  ends bigint not null
) with (fillfactor = 70);
-- `used` has no index and changes all the time, so a new version of a row fits beside the old one and needs no entry in an index.
create index counters_ends on counters (ends);

-- ── Example content

create table content (
  slug text primary key,
  title text not null,
  body text not null,
  updated_at timestamptz not null
);
