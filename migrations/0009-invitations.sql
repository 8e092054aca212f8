-- older programs: can run from 0001

-- Addresses that may register although registration is not open to them. The link has a random value, this table its SHA-256.
create table invitations (
  email_key text primary key,
  email text not null,
  token_hash bytea not null unique,
  created_at timestamptz not null,
  expires_at timestamptz not null
);
create index invitations_expiry on invitations (expires_at);
