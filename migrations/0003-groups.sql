-- older programs: can run from 0002

-- Groups, and who is in them. The names stand in the row of each user: a sign-in that waits for that row sees them as they are
-- then. Each session has a copy, which is set together with the number of its oldest valid token: a rotation returns it.
create table groups (
  name text primary key check (name ~ '^[a-z0-9][a-z0-9._-]{0,31}$'),
  created_at timestamptz not null
);

alter table users add column groups text[] not null default '{}';
create index users_in_groups on users using gin (groups) where groups <> '{}';

-- For the account that is created with the invitation.
alter table invitations add column groups text[] not null default '{}';

alter table refresh_token_records
  add column groups text[] not null default '{}',
  -- Tokens before `previous_hash` that get the same successor for as long: a change of the groups made it necessary to replace the
  -- newest token at once, while other requests were still using an older one.
  add column earlier_hashes bytea[];

select set_config('search_path', quote_ident(current_schema()) || ', pg_temp', true);

-- Guards the groups of a session: every writer of a new one, also an older program, gives it those of its user, whose row it holds.
create function copy_groups_to_session() returns trigger
language plpgsql security definer set search_path from current as $$
begin
  new.groups := coalesce((select groups from users where id = new.user_id), '{}');
  return new;
end $$;

create trigger session_gets_groups before insert on refresh_token_records
for each row execute function copy_groups_to_session();

-- Applications with webhooks are told of the groups too.
create or replace function queue_webhook_of_user(about uuid, webhook_type text) returns void
language plpgsql as $$
begin
  insert into outgoing_webhooks (type, user_id, data)
  select webhook_type, u.id, jsonb_build_object('user', jsonb_build_object(
    'id', u.id, 'email', u.email, 'username', u.username, 'name', u.name, 'provider', u.provider,
    'providers', array(select i.provider from identities as i where i.user_id = u.id order by i.provider),
    'groups', u.groups,
    'disabled', u.disabled_at is not null,
    'createdAt', to_char(u.created_at at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"')))
  from users as u where u.id = about
  on conflict (user_id, xact) where type in ('user.created', 'user.updated') do update set data = excluded.data;
end $$;

drop trigger user_updated on users;
create trigger user_updated after update on users
for each row when (
  (old.email, old.username, old.name, old.groups, old.disabled_at is null) is distinct from
  (new.email, new.username, new.name, new.groups, new.disabled_at is null) and are_webhooks_wanted()
) execute function note_updated_user();
