-- older programs: can run from 0001

-- Identities at providers that an undo link has removed from an account. They are not linked to it by an address again: only a session
-- of the user can do that.
create table undone_identities (
  user_id uuid not null references users on delete cascade,
  provider text not null,
  subject text not null,
  undone_at timestamptz not null,
  primary key (user_id, provider, subject)
);

-- SHA-256 of the token of the invitation with which a registration was begun: another one of its address does not let it be confirmed.
-- Null if it was begun without one, and in rows of an older program.
alter table pending_registrations add column invitation_hash bytea;

-- Accounts from before 0010 that have been used. Otherwise their next sign-in would count as the first, and send no mail about a
-- new device. Events are kept for 90 days: an older account counts as used.
update users set first_signed_in_at = coalesce(
  (select min(created_at) from events where user_id = users.id and kind in ('registered', 'signed_in')),
  (select min(created_at) from refresh_token_records where user_id = users.id),
  created_at)
where first_signed_in_at is null and (
  provider is not null
  or created_at < now() - interval '90 days'
  or exists (select 1 from refresh_token_records where user_id = users.id)
  or exists (select 1 from events where user_id = users.id and kind in ('registered', 'signed_in')));
