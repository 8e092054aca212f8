-- older programs: can run from 0001

-- The codes of an authenticator app (TOTP). The secret is sealed.
create table totp_secrets (
  user_id uuid primary key references users on delete cascade,
  secret text not null,
  created_at timestamptz not null,
  -- The newest 30-second step whose code was accepted. A code of this step or an earlier one is refused.
  last_step bigint not null
);

-- A secret that was shown and not confirmed yet. It belongs to the session that asked for it; the newest one counts.
create table pending_totp_secrets (
  user_id uuid primary key references users on delete cascade,
  session_id uuid not null,
  secret text not null,
  expires_at timestamptz not null
);
create index pending_totp_secrets_expiry on pending_totp_secrets (expires_at);

-- SHA-256 of each recovery code. Using a code deletes its row.
create table recovery_codes (
  user_id uuid not null references users on delete cascade,
  hash bytea not null,
  primary key (user_id, hash)
);

-- A sign-in whose first proof was right and whose second one is missing. The browser has the id in a cookie.
create table sign_in_challenges (
  hash bytea primary key,
  user_id uuid not null references users on delete cascade,
  -- The first proof, as in `methods` of a session.
  method text not null,
  provider text,
  -- The user's id at the provider, if the identity is linked to the account together with the session.
  subject text,
  tries_left integer not null default 5,
  expires_at timestamptz not null
);
create index sign_in_challenges_of_user on sign_in_challenges (user_id);
create index sign_in_challenges_expiry on sign_in_challenges (expires_at);

-- Browsers that need no code for this account. The browser has the random value, this table its SHA-256.
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

-- The trusted device with which a session began without a code.
alter table refresh_token_records add column trusted_device uuid;

-- The functions run with the rights of the owner: an older program's role has none on the new tables. So the names in them
-- must be found in this schema only, and never among the temporary tables of the caller.
select set_config('search_path', quote_ident(current_schema()) || ', pg_temp', true);

-- No session of an account with TOTP begins without a second proof, whichever program inserts it: one that does not know
-- second factors inserts no row, and refuses the sign-in. The insert holds a lock on the user, and this function sees what was
-- committed before: a factor that is added during a sign-in is not missed.
create function refuse_session_with_one_factor() returns trigger
language plpgsql security definer set search_path from current as $$
begin
  if not new.methods && array['otp', 'rec', 'passkey']
    and exists (select 1 from totp_secrets where user_id = new.user_id)
    and not exists (select 1 from trusted_devices where id = new.trusted_device and user_id = new.user_id) then
    return null;
  end if;
  return new;
end $$;

create trigger session_needs_second_factor before insert on refresh_token_records
for each row execute function refuse_session_with_one_factor();

-- A new password or email, TOTP on or off, a disabled user: no device is trusted any more, and no sign-in goes on that began
-- before.
create function end_trust() returns trigger
language plpgsql security definer set search_path from current as $$
declare
  ended uuid := case when tg_table_name = 'users' then to_jsonb(new) ->> 'id'
    else coalesce(to_jsonb(new), to_jsonb(old)) ->> 'user_id' end;
begin
  delete from trusted_devices where user_id = ended;
  delete from sign_in_challenges where user_id = ended;
  return null;
end $$;

-- A sign-in by a provider does not go on when the provider is unlinked.
create function end_challenges_of_provider() returns trigger
language plpgsql security definer set search_path from current as $$
begin
  delete from sign_in_challenges where user_id = old.user_id and provider = old.provider;
  return null;
end $$;

create trigger identity_unlinked after delete on identities
for each row execute function end_challenges_of_provider();

create trigger totp_changed after insert or delete on totp_secrets
for each row execute function end_trust();

-- How often the hash of a password was replaced by a stronger one of the same password. That ends no trust.
alter table users add column rehashes integer not null default 0;

create trigger user_trust_ended after update of password_hash, email_key, disabled_at on users
for each row when (
  (old.password_hash is distinct from new.password_hash and old.rehashes = new.rehashes)
  or old.email_key is distinct from new.email_key
  or (old.disabled_at is null and new.disabled_at is not null)
) execute function end_trust();
