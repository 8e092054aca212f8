-- older programs: can run from 0001

-- The user whom the mail is about, or who caused it. Null for an address without an account, and in rows of an older program.
-- No foreign key: a deletion keeps the row, see below.
alter table outgoing_mail add column user_id uuid;
create index outgoing_mail_of_user on outgoing_mail (user_id) where user_id is not null;

-- The functions run with the rights of the owner: an older program's role has none on the new tables. So the names in them
-- must be found in this schema only, and never among the temporary tables of the caller.
select set_config('search_path', quote_ident(current_schema()) || ', pg_temp', true);

-- What a deleted user leaves at other addresses than the present one. Former addresses are reserved for this user, so all that is
-- there goes. Another address to which the user let us send a mail may belong to anyone: the mail is not sent any more, and its
-- row stays without the address, because it counts for the limit of mails to that address.
create or replace function forget_mails_of_user() returns trigger
language plpgsql security definer set search_path from current as $$
declare
  former text[] := array(select email_key from undos where user_id = old.id and email_key is not null);
begin
  delete from pending_registrations where email_key = any(former);
  delete from invitations where email_key = any(former);
  delete from outgoing_mail where recipient = any(former);
  update outgoing_mail set user_id = null, recipient = null, content = null, next_attempt_at = null,
    recipient_key = 'sha256 ' || encode(sha256(convert_to(recipient_key, 'UTF8')), 'hex')
  where user_id = old.id;
  return old;
end $$;

-- A write that had to wait until the address became free was checked before the address was reserved. This checks it again.
create function refuse_email_reserved_meanwhile() returns trigger
language plpgsql security definer set search_path from current as $$
begin
  if exists (select 1 from undos where email_key = new.email_key and user_id <> new.id) then
    raise unique_violation using message = 'the address is reserved for its former owner', constraint = 'users_email_taken';
  end if;
  return null;
end $$;

create trigger new_user_email_still_free after insert on users
for each row execute function refuse_email_reserved_meanwhile();

create trigger user_email_still_free after update of email_key on users
for each row when (old.email_key is distinct from new.email_key) execute function refuse_email_reserved_meanwhile();
