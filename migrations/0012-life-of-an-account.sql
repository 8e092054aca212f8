-- older programs: can run from 0001

-- Former usernames: for some time only the former owner can have them again.
create table reserved_usernames (
  username_key text primary key,
  user_id uuid not null references users on delete cascade,
  -- The program deletes what has expired before it uses a name. A row that is here is in force.
  reserved_until timestamptz not null
);
create index reserved_usernames_of_user on reserved_usernames (user_id);
create index reserved_usernames_expiry on reserved_usernames (reserved_until);

-- The exact address. `recipient_key` is the same for `ada@…` and `ada+news@…`, which may be two users. Null in rows of an older program.
alter table outgoing_mail add column recipient text;
create index outgoing_mail_of_address on outgoing_mail (recipient) where recipient is not null;

-- The functions run with the rights of the owner: an older program's role has none on the new table. So the names in them
-- must be found in this schema only, and never among the temporary tables of the caller.
select set_config('search_path', quote_ident(current_schema()) || ', pg_temp', true);

-- After the row was written, so that this also sees a reservation for which the write had to wait.
create function refuse_reserved_username() returns trigger
language plpgsql security definer set search_path from current as $$
begin
  if exists (select 1 from reserved_usernames where username_key = new.username_key and user_id <> new.id) then
    raise unique_violation using message = 'the username is reserved for its former owner', constraint = 'users_username_taken';
  end if;
  return null;
end $$;

create trigger username_taken after insert on users
for each row execute function refuse_reserved_username();

create trigger username_changed after update of username_key on users
for each row when (old.username_key <> new.username_key) execute function refuse_reserved_username();

-- Everything that refers to the user goes with the row. This is about the rest, whichever program deletes the user: events stay
-- and can be counted, without personal data; registrations, invitations and mails have no reference, and go.
create function forget_user() returns trigger
language plpgsql security definer set search_path from current as $$
begin
  -- What an operator did on the command line has the operator's name there.
  update events set user_id = null, username = null, session_id = null, request_id = null,
    ip = case when ip = 'command line' then ip else '' end,
    user_agent = case when ip = 'command line' then user_agent else '' end
  where user_id = old.id;
  delete from pending_registrations where email_key = old.email_key;
  delete from pending_registrations where confirmed_at is not null and (username_key = old.username_key
    or username_key in (select username_key from reserved_usernames where user_id = old.id));
  delete from invitations where email_key = old.email_key;
  delete from outgoing_mail where recipient = old.email_key;
  return old;
end $$;

create trigger user_forgotten before delete on users
for each row execute function forget_user();
