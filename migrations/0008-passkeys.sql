-- older programs: can run from 0001

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

-- Each challenge is answered once: its SHA-256 is here from then until it has expired.
create table used_passkey_challenges (
  hash bytea primary key,
  expires_at timestamptz not null
);
create index used_passkey_challenges_expiry on used_passkey_challenges (expires_at);

-- As for TOTP: no device is trusted any more, and no sign-in goes on that began before.
create trigger passkeys_changed after insert or delete on passkeys
for each row execute function end_trust();
