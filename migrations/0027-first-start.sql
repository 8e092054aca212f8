-- older programs: can run from 0002

-- The links of the first start: while there is no user, whoever has one makes the first account, which is an administrator's. Several may
-- be valid at once.
create table setup_tokens (
  hash bytea primary key,
  expires_at timestamptz not null
);
create index setup_tokens_expire on setup_tokens (expires_at);

-- The group of administrators that the first start has made, if ADMIN_GROUP names none. It is here and not known by its name, because an
-- operator may have made a group of any name for an application. The group cannot be deleted: a later one would get its power by its name.
create table administrators_group (
  is_only boolean primary key default true check (is_only),
  name text not null references groups
);

select set_config('search_path', quote_ident(current_schema()) || ', pg_temp', true);

-- Guards the first start: with the first user, whoever creates it, all its links end. A setup takes the lock alone (`lockSetup` in
-- src/registration/setup.store.ts). It is taken before the insert: a setup that has the lock waits for no row of this transaction.
create function end_setup() returns trigger
language plpgsql security definer set search_path from current as $$
begin
  perform pg_advisory_xact_lock_shared(hashtextextended('first user', 0));
  delete from setup_tokens;
  return null;
end $$;

create trigger first_user_ends_setup before insert on users
for each statement execute function end_setup();
