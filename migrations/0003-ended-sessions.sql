-- older programs: can run from 0001

-- Sessions that ended, so that their access tokens are refused before they expire. Tokens of the session with a generation
-- below `below` are refused; null means all of them. Triggers write the entries, so that no way to end a session is missed:
-- the service, the command line, an older program, a cascade, plain SQL.
create table ended_sessions (
  -- Who reads by it sees every entry once, also one that commits late: see `ended-sessions.store.ts`.
  xact xid8 not null default pg_current_xact_id(),
  sid uuid not null,
  below integer,
  ended_at timestamptz not null default now(),
  primary key (xact, sid)
);
create index ended_sessions_age on ended_sessions (ended_at);

-- The functions run with the rights of the owner: an older program's role has none on the new table. So the names in them
-- must be found in this schema only, and never among the temporary tables of the caller.
select set_config('search_path', quote_ident(current_schema()) || ', pg_temp', true);

create function note_ended_session() returns trigger
language plpgsql security definer set search_path from current as $$
begin
  -- In a trigger for delete, `new` is null: all tokens are refused.
  insert into ended_sessions (sid, below) values (old.id, new.oldest_generation)
  on conflict (xact, sid) do update set below = excluded.below;
  return null;
end $$;

create function note_all_sessions_ended() returns trigger
language plpgsql security definer set search_path from current as $$
begin
  insert into ended_sessions (sid) select id from refresh_token_records where expires_at > now()
  on conflict (xact, sid) do update set below = null;
  return null;
end $$;

create trigger session_ended after delete on refresh_token_records
for each row when (old.expires_at > now()) execute function note_ended_session();

-- A change of the password in a session refuses the tokens before it. A rotation does not name the column, and costs nothing.
create trigger session_tokens_replaced after update of oldest_generation on refresh_token_records
for each row when (new.oldest_generation > old.oldest_generation) execute function note_ended_session();

create trigger all_sessions_ended before truncate on refresh_token_records
for each statement execute function note_all_sessions_ended();
