-- older programs: can run from 0001

-- Key pairs that sign access tokens (ES256). An older program does not know them, and refuses the tokens that they sign.
create table signing_keys (
  -- The `kid` of its tokens.
  id text primary key,
  -- Sealed. The public key is computed from it, so that a key which was put here without SEALING_KEY is worth nothing.
  private_key text not null,
  created_at timestamptz not null,
  -- By the clock of the database. The newest key whose time has come signs.
  signs_from timestamptz not null
);
