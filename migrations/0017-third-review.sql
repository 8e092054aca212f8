-- older programs: can run from 0001

-- ── Accounts: language, undo links, taking an account back

-- The language of mails about the account. Null until the first sign-in after this migration, which sets it.
alter table users add column language text;

-- The language of the browser that registered. The account gets it.
alter table pending_registrations add column language text;

-- Every undo row now has the address to which its mail went: its link puts that address back, and the address is reserved as long as
-- the row is there. A factor's row of an older program has none, and means the present address. Mails about a new username,
-- language or password have a link too: an older program answers one with 500 and leaves it as it is.
alter table undos drop constraint undos_check;
alter table undos drop constraint undos_kind_check;
alter table undos add constraint undos_kind_check check
  (kind in ('totp', 'passkey', 'provider', 'email', 'username', 'language', 'password'));
-- When the change was made. `since` is from now on the same for all rows of one address: when the first of them was made. It tells
-- which of several addresses the account had first.
alter table undos add column made_at timestamptz not null default clock_timestamp();

-- The addresses that an account had, for operators: an undo row is gone after seven days.
create table former_emails (
  user_id uuid not null references users on delete cascade,
  email text not null,
  replaced_at timestamptz not null
);
create index former_emails_of_user on former_emails (user_id, replaced_at);
create index former_emails_expiry on former_emails (replaced_at);

-- As the user wrote it: the key is not for display. Null in rows of an older program.
alter table reserved_usernames add column username text;

-- ── Sessions: times of proofs, how a session began

-- When the user last proved a second factor (a code or a passkey) in this session. Null if they have not, or if that factor
-- was removed since.
alter table refresh_token_records add column second_factor_at timestamptz;

-- What the sessions of one browser have in common (part of its known_device cookie). Null in rows of an older program, and for a
-- browser that withheld the cookie.
alter table refresh_token_records add column browser text;

-- ── Mails

-- Who gave the first proof, for the mail about a sign-in that was not finished. Null in rows of an older program.
alter table sign_in_challenges
  add column ip text,
  add column user_agent text,
  add column begun_at timestamptz;

-- Why the last attempt to send it failed, without the address.
alter table outgoing_mail add column last_error text;

-- ── Limits and registrations

-- Whether its mail was sent. Above a ceiling none is.
alter table pending_registrations add column mailed boolean not null default true;

-- The functions run with the rights of the owner. So the names in them must be found in this schema only, and never among the
-- temporary tables of the caller.
select set_config('search_path', quote_ident(current_schema()) || ', pg_temp', true);

-- The registrations for these addresses when the account that had them is deleted. One that waits may be of a stranger, who must not
-- see the deletion: it keeps its answers until it expires, and neither a name nor an address. It can never be confirmed.
create function forget_registrations(keys text[]) returns void
language sql security definer set search_path from current as $$
  delete from pending_registrations where email_key = any(keys) and confirmed_at is not null;
  update pending_registrations set email = '', username = '', name = null, invitation_hash = null, older_token_hashes = '{}',
    token_hash = decode(replace(gen_random_uuid()::text || gen_random_uuid()::text, '-', ''), 'hex'),
    email_key = 'sha256 ' || encode(sha256(convert_to(email_key, 'UTF8')), 'hex'),
    username_key = 'sha256 ' || encode(sha256(convert_to(username_key, 'UTF8')), 'hex')
  where email_key = any(keys);
$$;

create or replace function forget_user() returns trigger
language plpgsql security definer set search_path from current as $$
begin
  -- What an operator did on the command line has the operator's name there.
  update events set user_id = null, username = null, session_id = null, request_id = null,
    ip = case when ip = 'command line' then ip else '' end,
    user_agent = case when ip = 'command line' then user_agent else '' end
  where user_id = old.id;
  perform forget_registrations(array[old.email_key]);
  delete from pending_registrations where confirmed_at is not null and (username_key = old.username_key
    or username_key in (select username_key from reserved_usernames where user_id = old.id));
  delete from invitations where email_key = old.email_key;
  delete from outgoing_mail where recipient = old.email_key;
  return old;
end $$;

create or replace function forget_mails_of_user() returns trigger
language plpgsql security definer set search_path from current as $$
declare
  former text[] := array(select email_key from undos where user_id = old.id and email_key is not null);
begin
  perform forget_registrations(former);
  delete from invitations where email_key = any(former);
  delete from outgoing_mail where recipient = any(former);
  update outgoing_mail set user_id = null, recipient = null, content = null, next_attempt_at = null,
    recipient_key = 'sha256 ' || encode(sha256(convert_to(recipient_key, 'UTF8')), 'hex')
  where user_id = old.id;
  return old;
end $$;

-- ── Operations

-- What an operator did with a command: a running service writes it into its log, once.
alter table events add column log_pending boolean;
create index events_log_pending on events (id) where log_pending;
