-- older programs: can run from 0002

-- Applications that sign their users in here (OpenID Connect). `id` is their `client_id`.
create table applications (
  id text primary key,
  name text not null,
  home text not null,
  -- `web` has a secret, `browser` and `native` have none.
  kind text not null check (kind in ('web', 'browser', 'native')),
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
  created_at timestamptz not null
);
-- Users see the name when they are asked to continue to it, and operators type it.
create unique index applications_name on applications (lower(name));

-- One, or two while the old one is being replaced.
create table application_secrets (
  id uuid primary key,
  application_id text not null references applications on delete cascade,
  hash bytea not null,
  created_at timestamptz not null
);
create index application_secrets_of_application on application_secrets (application_id);

-- What an application did wrong lately, in plain words for operators.
create table application_errors (
  application_id text not null references applications on delete cascade,
  message text not null,
  count integer not null default 1,
  seen_at timestamptz not null,
  primary key (application_id, message)
);

-- The keys of ID tokens and logout notices. They are not in `signing_keys`: a program of an earlier release would sign with them.
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

-- An application that is used with a session. A row that is deleted, by whatever way, is told to the application: see the triggers
-- below. No foreign key to sessions or users: their cascades would delete it in an order in which the triggers know too little.
create table application_sessions (
  id uuid primary key,
  sid uuid not null,
  application_id text not null references applications on delete cascade,
  user_id uuid not null,
  scopes text[] not null,
  created_at timestamptz not null,
  last_used_at timestamptz not null,
  unique (sid, application_id)
) with (fillfactor = 80);
create index application_sessions_of_user on application_sessions (user_id);
create index application_sessions_of_application on application_sessions (application_id);

-- A used code is kept for a while: a second use is a sign of theft.
create table authorization_codes (
  hash bytea primary key,
  application_session_id uuid not null references application_sessions on delete cascade,
  redirect_address text not null,
  -- PKCE, S256. Null if the application sent none.
  challenge text,
  -- What the ID token says, as it was when the code was made: nonce, auth_time, methods, scopes, requested claims.
  token_content jsonb not null,
  created_at timestamptz not null,
  expires_at timestamptz not null,
  used_at timestamptz
);
create index authorization_codes_of_session on authorization_codes (application_session_id);
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

select set_config('search_path', quote_ident(current_schema()) || ', pg_temp', true);

-- Guards the ending of a session: it ends at every application too, in the same transaction.
create function end_applications_of_session() returns trigger
language plpgsql security definer set search_path from current as $$
begin
  delete from application_sessions where sid = old.id;
  return null;
end $$;

create trigger session_ended_at_applications after delete on refresh_token_records
for each row execute function end_applications_of_session();

-- The same for `truncate`, which deletes no single row.
create function end_applications_of_all_sessions() returns trigger
language plpgsql security definer set search_path from current as $$
begin
  delete from application_sessions;
  return null;
end $$;

create trigger all_sessions_ended_at_applications before truncate on refresh_token_records
for each statement execute function end_applications_of_all_sessions();

-- Guards back-channel logout: no way to end the use of an application is missed. An application that is deleted is not told.
create function queue_logout_notice() returns trigger
language plpgsql security definer set search_path from current as $$
begin
  insert into logout_notices (application_id, sid, user_id)
  select id, old.sid, old.user_id from applications where id = old.application_id and backchannel_logout is not null;
  return null;
end $$;

create trigger application_session_ended after delete on application_sessions
for each row execute function queue_logout_notice();

-- When the last proof of a session was stored, by the clock of the database: a request of an application may ask for a proof after
-- it, at another instance. Null: it was stored by an older program.
alter table refresh_token_records add column proof_moment timestamptz;

-- Whether the address was proven by our mail or a provider's word. Of earlier accounts the events tell.
alter table users add column email_proven boolean not null default false;
update users as u set email_proven = true
where provider is not null
  or exists (select 1 from events as e where e.user_id = u.id and e.kind in ('registered', 'email_changed', 'password_reset'));
