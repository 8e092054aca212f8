-- older programs: can run from 0002

-- The username that the administrator had then: after a new one it would look as if somebody else had done it.
alter table events add column actor_name text;

select set_config('search_path', quote_ident(current_schema()) || ', pg_temp', true);

-- Guards the privacy of a deleted user, as before; now also in the name of who did something as an administrator.
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
  delete from outgoing_mail where recipient = old.email_key;
  return old;
end $$;
