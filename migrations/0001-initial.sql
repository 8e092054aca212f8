-- Hot tables leave room in their pages and index no column that a hot statement changes, so that an update stays
-- inside its page (HOT) and leaves no growth behind.

create table users (
  id uuid primary key,
  email text not null,
  email_key text not null constraint users_email_taken unique,
  username text not null,
  username_key text not null constraint users_username_taken unique,
  name text,
  password_hash text,
  -- The provider that created the account; null for an account that was made with a password.
  provider text,
  created_at timestamptz not null,
  disabled_at timestamptz
);

-- The accounts at providers that sign a user in, at most one for each provider. The program knows which providers there
-- are: a new one needs no migration.
create table identities (
  user_id uuid not null references users (id) on delete cascade,
  provider text not null,
  -- Who the user is at the provider: the `sub` claim of OpenID Connect, the account number at GitHub.
  subject text not null,
  linked_at timestamptz not null,
  primary key (user_id, provider),
  constraint identities_taken unique (provider, subject)
);

-- One row per session; it always describes the newest refresh token of its chain.
create table refresh_token_records (
  id uuid primary key,
  user_id uuid not null references users (id) on delete cascade,
  token_hash bytea not null,
  previous_hash bytea,
  generation integer not null,
  issued_at timestamptz not null,
  rotated_at timestamptz not null,
  expires_at timestamptz not null,
  ip text not null,
  user_agent text not null,
  created_at timestamptz not null,
  last_used_at timestamptz not null,
  -- The token that a change of the password replaced: it gets no successor, however fresh it is.
  voided_hash bytea,
  voided_at timestamptz,
  -- Access tokens of an earlier generation change nothing that matters any more.
  oldest_generation integer not null default 0
) with (fillfactor = 70);
create index refresh_token_records_of_user on refresh_token_records (user_id);

-- A registration that waits for the proof of its address. No account exists before that. One for an address that has an
-- account is kept too, so that nobody can tell the two apart. A confirmed one stays until it expires: its link is known.
create table pending_registrations (
  id uuid primary key,
  email text not null,
  email_key text not null,
  username text not null,
  username_key text not null,
  name text,
  password_hash text not null,
  token_hash bytea not null constraint pending_registrations_token unique,
  older_token_hashes bytea[] not null default '{}',
  browser_hashes bytea[] not null,
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

-- Values that work once: password resets, and the marks of provider attempts that were used.
create table one_time_tokens (
  hash bytea primary key,
  purpose text not null check (purpose in ('reset_password', 'provider_attempt')),
  user_id uuid references users (id) on delete cascade,
  expires_at timestamptz not null
);
create index one_time_tokens_expiry on one_time_tokens (expires_at);
create index one_time_tokens_of_user on one_time_tokens (user_id);

-- Mail waits here until the mail server has taken it. The content is sealed: it carries links that sign people in.
create table outgoing_mail (
  id uuid primary key,
  recipient_key text not null,
  kind text not null,
  content text,
  created_at timestamptz not null,
  attempts integer not null default 0,
  next_attempt_at timestamptz,
  sent_at timestamptz
);
create index outgoing_mail_due on outgoing_mail (next_attempt_at) where next_attempt_at is not null;
create index outgoing_mail_of_recipient on outgoing_mail (recipient_key, kind, created_at);

create table events (
  id uuid primary key,
  kind text not null,
  user_id uuid references users (id) on delete cascade,
  username text,
  -- A short keyed hash of a name that belongs to no account: people type passwords there.
  name_mark text,
  session_id uuid,
  reason text,
  request_id uuid,
  ip text not null,
  user_agent text not null,
  created_at timestamptz not null
);
create index events_of_user on events (user_id, id desc);
create index events_of_name on events (name_mark, id desc) where name_mark is not null;
create index events_of_limiters on events (ip, id desc) where kind = 'rate_limited';

create table content (
  slug text primary key,
  title text not null,
  body text not null,
  updated_at timestamptz not null
);
