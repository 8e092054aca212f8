-- older programs: can run from 0001

-- Whether anybody wants webhooks. A program with WEBHOOK_URL moves `until` on while it runs; nothing is written after it.
create table webhooks_wanted (
  one_row boolean primary key default true check (one_row),
  until timestamptz not null
);

-- Webhooks wait here until the receiver has taken them. They are written in the transaction of the change that they are about:
-- by the triggers below, so that no way to change a user is missed (the service, the command line, an older program, plain SQL),
-- or by the program. A delivered one is deleted.
create table outgoing_webhooks (
  id uuid primary key default gen_random_uuid(),
  type text not null,
  -- No foreign key: `user.deleted` outlives its user.
  user_id uuid not null,
  data jsonb not null,
  created_at timestamptz not null default now(),
  attempts integer not null default 0,
  -- Null: given up.
  next_attempt_at timestamptz default now(),
  failure text,
  xact xid8 not null default pg_current_xact_id()
);
create index outgoing_webhooks_due on outgoing_webhooks (next_attempt_at) where next_attempt_at is not null;
create index outgoing_webhooks_age on outgoing_webhooks (created_at);
create index outgoing_webhooks_of_user on outgoing_webhooks (user_id);
-- One transaction may write several rows about one user (the account and its identities): they become one webhook.
create unique index outgoing_webhooks_merged on outgoing_webhooks (user_id, xact)
  where type in ('user.created', 'user.updated');

-- The functions run with the rights of the owner: an older program's role has none on the new tables. So the names in them
-- must be found in this schema only, and never among the temporary tables of the caller.
select set_config('search_path', quote_ident(current_schema()) || ', pg_temp', true);

create function are_webhooks_wanted() returns boolean
language sql stable security definer set search_path from current as $$
  select exists (select 1 from webhooks_wanted where until > now())
$$;

-- Called by the triggers only, with their rights. In this language its plan is kept for the next row.
create function queue_webhook_of_user(about uuid, webhook_type text) returns void
language plpgsql as $$
begin
  insert into outgoing_webhooks (type, user_id, data)
  select webhook_type, u.id, jsonb_build_object('user', jsonb_build_object(
    'id', u.id, 'email', u.email, 'username', u.username, 'name', u.name, 'provider', u.provider,
    'providers', array(select i.provider from identities as i where i.user_id = u.id order by i.provider),
    'disabled', u.disabled_at is not null,
    'createdAt', to_char(u.created_at at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"')))
  from users as u where u.id = about
  on conflict (user_id, xact) where type in ('user.created', 'user.updated') do update set data = excluded.data;
end $$;

create function note_created_user() returns trigger
language plpgsql security definer set search_path from current as $$
begin
  perform queue_webhook_of_user(new.id, 'user.created');
  return null;
end $$;

create function note_updated_user() returns trigger
language plpgsql security definer set search_path from current as $$
begin
  perform queue_webhook_of_user(new.id, 'user.updated');
  return null;
end $$;

-- When the user is deleted, the identities go with it: then there is no user any more, and no row is written.
create function note_changed_identity() returns trigger
language plpgsql security definer set search_path from current as $$
begin
  perform queue_webhook_of_user(coalesce(new.user_id, old.user_id), 'user.updated');
  return null;
end $$;

create function note_deleted_user() returns trigger
language plpgsql security definer set search_path from current as $$
begin
  delete from outgoing_webhooks where user_id = old.id and type <> 'user.deleted';
  if are_webhooks_wanted() then
    insert into outgoing_webhooks (type, user_id, data)
    values ('user.deleted', old.id, jsonb_build_object('user', jsonb_build_object('id', old.id)));
  end if;
  return null;
end $$;

create function note_sign_in() returns trigger
language plpgsql security definer set search_path from current as $$
begin
  insert into outgoing_webhooks (type, user_id, data)
  values ('user.signed_in', new.user_id, jsonb_build_object(
    'user', jsonb_build_object('id', new.user_id),
    'session', jsonb_build_object('id', new.id, 'methods', new.methods, 'ip', new.ip, 'userAgent', new.user_agent)));
  return null;
end $$;

create trigger user_created after insert on users
for each row when (are_webhooks_wanted()) execute function note_created_user();

-- What a webhook shows of a user. The hash of a password is none of it: it is also replaced without a change of the password.
create trigger user_updated after update on users
for each row when (
  (old.email, old.username, old.name, old.disabled_at is null) is distinct from
  (new.email, new.username, new.name, new.disabled_at is null) and are_webhooks_wanted()
) execute function note_updated_user();

create trigger user_deleted after delete on users
for each row execute function note_deleted_user();

create trigger identity_changed after insert or delete on identities
for each row when (are_webhooks_wanted()) execute function note_changed_identity();

create trigger user_signed_in after insert on refresh_token_records
for each row when (are_webhooks_wanted()) execute function note_sign_in();
