-- older programs: can run from 0002

-- ── Events: who did it and why, and no way to change them

-- The administrator who caused it, and what they wrote as their reason. Only administrators see the reason.
alter table events
  add column actor_id uuid references users on delete set null,
  add column actor_reason text check (char_length(actor_reason) <= 200);
create index events_of_actor on events (actor_id, id desc) where actor_id is not null;

select set_config('search_path', quote_ident(current_schema()) || ', pg_temp', true);

-- Guards the privacy of a deleted user, as before; now also in what administrators wrote about the user, and in what the user did
-- as an administrator.
create or replace function forget_user() returns trigger
language plpgsql security definer set search_path from current as $$
begin
  -- What an operator did on the command line has the operator's name there.
  update events set user_id = null, username = null, session_id = null, request_id = null, actor_reason = null,
    ip = case when ip = 'command line' then ip else '' end,
    user_agent = case when ip = 'command line' then user_agent else '' end
  where user_id = old.id;
  update events set actor_id = null, request_id = null, ip = '', user_agent = '' where actor_id = old.id;
  perform forget_registrations(array[old.email_key]);
  delete from pending_registrations where confirmed_at is not null and (username_key = old.username_key
    or username_key in (select username_key from reserved_usernames where user_id = old.id));
  delete from invitations where email_key = old.email_key;
  delete from outgoing_mail where recipient = old.email_key;
  return old;
end $$;

-- Guards the events: what happened stays as it was written. Only the deletion of a user empties some (inside a trigger), a name that
-- no longer belongs to anyone is forgotten, the log takes note of those of commands, and the purge deletes them after 90 days.
create function refuse_changed_event() returns trigger
language plpgsql security definer set search_path from current as $$
begin
  if tg_op = 'DELETE' then
    if old.created_at < now() - interval '90 days' then
      return old;
    end if;
  elsif tg_op = 'UPDATE' and (new.name_mark is null or new.name_mark is not distinct from old.name_mark)
    and to_jsonb(new) - array['name_mark', 'log_pending'] = to_jsonb(old) - array['name_mark', 'log_pending'] then
    return new;
  end if;
  raise insufficient_privilege using message = 'events cannot be changed, and are deleted after 90 days';
end $$;

create trigger event_changed before update or delete on events
for each row when (pg_trigger_depth() = 0) execute function refuse_changed_event();

create trigger events_emptied before truncate on events
for each statement execute function refuse_changed_event();

-- ── Users: how an administrator finds one

-- Each finds how a name begins, and gives the names in order. Bytes are compared, whatever the language of the database.
create index users_by_username on users (username_key collate "C");
create index users_by_email on users (email_key collate "C");
create index users_by_name on users (lower(name) collate "C") where name is not null;
create index users_by_last_name on users (lower(substring(name from '\S+$')) collate "C") where name is not null;

-- ── Sessions

-- When the session was first used as an administrator. Null: it was not.
alter table refresh_token_records add column administers_since timestamptz;
