-- older programs: can run from 0002

-- One address can have an invitation of each maker: of every service key, of the administrators, and of the command line. The primary
-- key is the address, followed by a space and the maker. Those of the command line have the address alone: an older program knows one
-- invitation for an address, and finds and replaces these.
alter table invitations
  add column address_key text not null generated always as (split_part(email_key, ' ', 1)) stored,
  -- `command line`, `administrator`, or `service key NAME`.
  add column made_by text not null default 'command line',
  -- The administrator, whose present name the invited person sees.
  add column administrator_id uuid references users on delete set null,
  -- The name that a program or a command has given.
  add column invited_by text,
  add column return_to text;
create index invitations_of_address on invitations (address_key);
create index invitations_of_administrator on invitations (administrator_id) where administrator_id is not null;

select set_config('search_path', quote_ident(current_schema()) || ', pg_temp', true);

-- Guards the privacy of a deleted user: invitations have no reference to the user whose address they are for, and go, whoever made them.
create function forget_invitations() returns trigger
language plpgsql security definer set search_path from current as $$
begin
  delete from invitations where address_key = old.email_key
    or address_key in (select email_key from undos where user_id = old.id);
  return old;
end $$;

create trigger user_invitations_forgotten before delete on users
for each row execute function forget_invitations();
