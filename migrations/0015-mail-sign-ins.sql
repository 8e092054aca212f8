-- older programs: can run from 0002

-- Sign-ins by mail (MAIL_SIGN_IN), one for each browser that asked. The code is computed from the id with a key of ours, and is not
-- stored. A row without a user and without an email opens nothing: no mail was sent, or one that says so. It has tries all the same,
-- so that the answers are those of any other.
create table mail_sign_ins (
  -- Of the cookie of the browser that asked.
  browser_hash bytea primary key,
  id uuid not null unique,
  -- Of the link in the mail.
  token_hash bytea not null unique,
  user_id uuid references users on delete cascade,
  -- An address without an account that may register.
  email text,
  email_key text,
  tries_left integer not null,
  -- The code or the link was used in the browser that asked, and the account is not made yet.
  proven_at timestamptz,
  expires_at timestamptz not null,
  check (user_id is null or email is null)
);
create index mail_sign_ins_of_user on mail_sign_ins (user_id);
create index mail_sign_ins_of_email on mail_sign_ins (email_key) where email_key is not null;
create index mail_sign_ins_expiry on mail_sign_ins (expires_at);

select set_config('search_path', quote_ident(current_schema()) || ', pg_temp', true);

-- Guards the privacy of a deleted user, as before; now also in sign-ins by mail that were begun when the address had no account.
create or replace function forget_user() returns trigger
language plpgsql security definer set search_path from current as $$
begin
  -- What an operator did on the command line has the operator's name there.
  update events set user_id = null, username = null, session_id = null, request_id = null, actor_reason = null,
    ip = case when ip = 'command line' then ip else '' end,
    user_agent = case when ip = 'command line' then user_agent else '' end
  where user_id = old.id;
  update events set actor_id = null, actor_name = null, request_id = null, ip = '', user_agent = '' where actor_id = old.id;
  perform forget_registrations(array[old.email_key]);
  delete from pending_registrations where confirmed_at is not null and (username_key = old.username_key
    or username_key in (select username_key from reserved_usernames where user_id = old.id));
  delete from invitations where email_key = old.email_key;
  delete from mail_sign_ins where email_key = old.email_key;
  delete from outgoing_mail where recipient = old.email_key;
  return old;
end $$;
