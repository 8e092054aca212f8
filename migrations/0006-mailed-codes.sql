-- older programs: can run from 0001

-- Codes that are mailed to the owner of an account, as a proof. The code is computed from the id with a key of ours, and is not
-- stored.
create table mailed_codes (
  -- What the code is bound to, such as a session. A new code replaces the one before it.
  holder text primary key,
  id uuid not null unique,
  user_id uuid not null references users (id) on delete cascade,
  tries_left integer not null,
  expires_at timestamptz not null
);
create index mailed_codes_of_user on mailed_codes (user_id);
create index mailed_codes_expiry on mailed_codes (expires_at);
