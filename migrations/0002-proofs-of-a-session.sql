-- older programs: can run from 0001

-- Additive: an older program leaves these columns alone, and its sessions count as proven when they began.
alter table refresh_token_records
  -- How the user has proven who they are in this session (`amr` of access tokens); empty for a session of an older program.
  add column methods text[] not null default '{}',
  -- The last of these proofs; null means the start of the session.
  add column authenticated_at timestamptz,
  -- The newest generation that was made by a renewal at the proxy: its parent has a longer grace time.
  add column renewed_generation integer;
