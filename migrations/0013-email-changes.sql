-- older programs: can run from 0001

-- A new email address that waits for its confirmation, at most one for each user. One for an address that is taken is kept too,
-- so that both cases write the same rows.
create table email_changes (
  user_id uuid primary key references users on delete cascade,
  email text not null,
  email_key text not null,
  -- SHA-256 of the token in the mail.
  hash bytea not null unique,
  asked_at timestamptz not null,
  expires_at timestamptz not null
);
create index email_changes_expiry on email_changes (expires_at);

-- What the undo links in mails take back. A row about an email also reserves that address for its user, as long as the row is there.
create table undos (
  -- SHA-256 of the token in the mail.
  hash bytea primary key,
  user_id uuid not null references users on delete cascade,
  kind text not null check (kind in ('totp', 'passkey', 'provider', 'email')),
  -- What was added: the id of the passkey, or the provider and the user's id there.
  subject text,
  -- The address to put back.
  email text,
  email_key text,
  -- What was added to the account from this moment on is removed with a change of the email.
  since timestamptz not null,
  expires_at timestamptz not null,
  check ((kind = 'email') = (email is not null and email_key is not null))
);
create index undos_of_user on undos (user_id);
create index undos_of_email on undos (email_key) where email_key is not null;
create index undos_expiry on undos (expires_at);

-- How often the account was taken back by an undo link. A sign-in that began before gets no session.
alter table users add column undo_count integer not null default 0;

-- Null for codes from before this migration.
alter table recovery_codes add column created_at timestamptz;

-- The functions run with the rights of the owner: an older program's role has none on the new tables. So the names in them
-- must be found in this schema only, and never among the temporary tables of the caller.
select set_config('search_path', quote_ident(current_schema()) || ', pg_temp', true);

-- Nobody gets an address that is reserved for another user, whichever program writes it: it writes no row.
create function refuse_reserved_email() returns trigger
language plpgsql security definer set search_path from current as $$
begin
  if exists (select 1 from undos where email_key = new.email_key and user_id <> new.id) then
    return null;
  end if;
  return new;
end $$;

create trigger new_user_email_reserved before insert on users
for each row execute function refuse_reserved_email();

create trigger user_email_reserved before update of email_key on users
for each row when (old.email_key is distinct from new.email_key) execute function refuse_reserved_email();

-- An undo ends trusted devices and waiting sign-ins, also if neither the password nor the email changed.
create trigger user_taken_back after update of undo_count on users
for each row when (old.undo_count <> new.undo_count) execute function end_trust();

-- A deleted user takes along the mails to earlier addresses of the user and to one that was asked for, unless another user has it.
create function forget_mails_of_user() returns trigger
language plpgsql security definer set search_path from current as $$
begin
  delete from outgoing_mail where recipient in (
    select email_key from undos where user_id = old.id
    union select email_key from email_changes where user_id = old.id
  ) and not exists (select 1 from users where email_key = recipient and id <> old.id);
  return old;
end $$;

create trigger user_mails_forgotten before delete on users
for each row execute function forget_mails_of_user();
